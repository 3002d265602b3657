//! HTTP tools and MCP servers that an org has defined. Only references to their secrets
//! are stored.

use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::org_tools::{MAX_ORG_TOOLS, OrgTool, OrgToolKind};

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::tenancy::orgs::lock_org;

/// A tool of an org, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOrgTool {
    pub tool: OrgTool,
    pub saved_at: Timestamp,
}

const SAVE: Sql = sql!(
    "INSERT INTO org_tools (org, kind, name, data, saved_at) VALUES (?1, ?2, ?3, ?4, now_ms())
     ON CONFLICT (org, kind, name) DO UPDATE SET data = excluded.data, saved_at = excluded.saved_at"
);
const DELETE: Sql = sql!("DELETE FROM org_tools WHERE org = ?1 AND kind = ?2 AND name = ?3");
const LIST: Sql =
    sql!("SELECT kind, data, saved_at FROM org_tools WHERE org = ?1 ORDER BY kind, name");

impl OrgStore<'_> {
    /// Returns the tools that the org has defined, ordered by kind and name.
    pub fn org_tools(&self) -> StoreFuture<Vec<StoredOrgTool>> {
        self.rows(&LIST, [], read_org_tool)
    }
}

/// Returns the tools that an org has defined, inside a transaction.
pub(crate) fn list(tx: &Tx, org: OrgId) -> Result<Vec<OrgTool>> {
    let rows = tx.query(&LIST, &[org.into()])?;
    rows.iter().map(|row| Ok(read_org_tool(row)?.tool)).collect()
}

/// Creates or replaces a tool. Fails with [`StoreError::Conflict`] if the org has too many.
pub(crate) fn save(tx: &Tx, org: OrgId, tool: &OrgTool) -> Result<()> {
    lock_org(tx, org)?;
    let same = |one: &OrgTool| (one.kind(), one.name()) == (tool.kind(), tool.name());
    let existing = list(tx, org)?;
    if existing.len() >= MAX_ORG_TOOLS && !existing.iter().any(same) {
        let what = format!("an organization with {MAX_ORG_TOOLS} tools of its own");
        return Err(StoreError::Conflict(what));
    }
    let data = match tool {
        OrgTool::Http(tool) => Value::json(tool)?,
        OrgTool::Mcp(server) => Value::json(server)?,
    };
    let params = [org.into(), tool.kind().name().into(), tool.name().into(), data];
    tx.execute(&SAVE, &params).map(drop)
}

/// Deletes a tool. Fails with [`StoreError::NotFound`] if there is none of this name.
pub(crate) fn delete(tx: &Tx, org: OrgId, kind: OrgToolKind, name: &str) -> Result<()> {
    match tx.execute(&DELETE, &[org.into(), kind.name().into(), name.into()])? {
        0 => Err(StoreError::NotFound(kind.description())),
        _ => Ok(()),
    }
}

fn read_org_tool(row: &Row) -> Result<StoredOrgTool> {
    let kind = row.text(0)?;
    let tool = if kind == OrgToolKind::Http.name() {
        OrgTool::Http(row.json(1, "HTTP tool")?)
    } else if kind == OrgToolKind::Mcp.name() {
        OrgTool::Mcp(row.json(1, "MCP server")?)
    } else {
        return Err(StoreError::CorruptValue { what: "tool", why: format!("unknown kind {kind}") });
    };
    Ok(StoredOrgTool { tool, saved_at: row.time(2)? })
}
