//! The tools that an org has defined itself: HTTP tools and MCP servers.

use std::sync::Arc;

use ostler_domain::org::permission::OrgPermission;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_domain::tool::{ToolGroup, ToolProblem};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolSet, UnavailableTool, check_schema};
use ostler_store::StoredOrgTool;
use serde_json::{Value, json};

use super::tool_test::call_tool;
use super::world::ApplyHost;
use super::{Actor, OperationError, OrgOperations, Result};
use crate::records::encode;
use crate::toolbox::TestedMcpServer;

/// What saving a definition did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChange {
    Added,
    Replaced,
    Unchanged,
}

impl OrgOperations<'_> {
    /// Returns the HTTP tools and MCP servers that the org has defined.
    pub async fn own_tools(&self) -> Result<Vec<StoredOrgTool>> {
        Ok(self.authorize(OrgPermission::View).await?.org_tools().await?)
    }

    /// Returns one of them. Fails if there is none of this name.
    pub async fn own_tool(&self, kind: OrgToolKind, name: &str) -> Result<StoredOrgTool> {
        let mut all = self.own_tools().await?;
        let at = all.iter().position(|one| (one.tool.kind(), one.tool.name()) == (kind, name));
        let known = || all.iter().filter(|one| one.tool.kind() == kind).map(|one| one.tool.name());
        match at {
            Some(at) => Ok(all.swap_remove(at)),
            None => Err(OperationError::NoOwnTool {
                kind: kind.description(),
                name: name.to_owned(),
                known: known().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Returns the tools of the org's agents, and those that are unavailable.
    pub async fn tool_set(&self) -> Result<OrgToolSet> {
        self.authorize(OrgPermission::View).await?;
        let view = self.view().await?;
        let unavailable = view.unavailable_tools.clone();
        Ok(OrgToolSet { tools: view.tools.clone(), unavailable })
    }

    /// Adds an HTTP tool or MCP server, or replaces the one of that name. A program on this
    /// machine can be named at the terminal only.
    pub async fn save_tool(&self, tool: OrgTool) -> Result<ToolChange> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let problems = self.tool_problems(&tool);
        if !problems.is_empty() {
            let (kind, name) = (tool.kind().description(), tool.name().to_owned());
            return Err(OperationError::InvalidTool { kind, name, problems });
        }
        let is_program = matches!(&tool, OrgTool::Mcp(server) if server.command.is_some());
        if is_program && self.actor != Actor::Terminal {
            let what = "start programs on this machine";
            let (who, holders) = ("you".to_owned(), "the operator at the machine");
            return Err(OperationError::Forbidden { who, what, holders });
        }
        let stored = store.org_tools().await?.into_iter().map(|one| one.tool);
        let before =
            stored.into_iter().find(|one| (one.kind(), one.name()) == (tool.kind(), tool.name()));
        let change = match &before {
            Some(before) if *before == tool => return Ok(ToolChange::Unchanged),
            Some(_) => ToolChange::Replaced,
            None => ToolChange::Added,
        };
        let (before, after) = (before.as_ref().map(definition), definition(&tool));
        let audit =
            self.audit_change("save_tool", &tool.name(), &before.unwrap_or_default(), &after);
        store.audited(audit).save_org_tool(tool).await?;
        Ok(change)
    }

    /// Does the same after a check on the machine, and returns also what keeps the tool from
    /// working there.
    pub async fn save_checked_tool(
        &self,
        tool: OrgTool,
        host: &dyn ApplyHost,
    ) -> Result<(ToolChange, Vec<String>)> {
        self.authorize(OrgPermission::Configure).await?;
        let mut notes = Vec::new();
        // What is wrong with the definition itself is said first.
        if tool.check().is_empty() {
            notes = host.check_tool(self.org, &tool).map_err(OperationError::BadResource)?;
        }
        Ok((self.save_tool(tool).await?, notes))
    }

    /// Removes an HTTP tool or MCP server. Fails if there is none of this name.
    pub async fn remove_tool(&self, kind: OrgToolKind, name: &str) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let before = definition(&self.own_tool(kind, name).await?.tool);
        let audit = self.audit_change("remove_tool", &name, &before, &Value::Null);
        Ok(store.audited(audit).delete_org_tool(kind, name).await?)
    }

    /// Calls a tool of the org once, outside any conversation, and returns what happened. The
    /// call is real, and costs nothing.
    pub async fn test_tool(&self, name: &str, arguments: &Value) -> Result<ToolOutcome> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let view = self.view().await?;
        let own = |tool: &&Arc<dyn Tool>| tool.definition().spec.group == ToolGroup::Custom;
        let Some(tool) = view.tools.get(name).filter(own) else {
            return Err(no_tool(&view.unavailable_tools, name));
        };
        if let Some(problem) = view.tools.argument_problems(name, arguments) {
            return Err(OperationError::BadArguments { tool: name.to_owned(), problem });
        }
        let audit = self.audit_entry("test_tool", &name, &json!({"arguments": arguments}));
        let key = format!("test/{}", audit.id);
        store.append_audit(audit).await?;
        Ok(call_tool(self.org, tool, arguments, key, &self.inner().clock).await)
    }

    /// Starts or reaches an MCP server of the org, apart from its agents, and returns its tools.
    pub async fn test_mcp_server(&self, name: &str) -> Result<TestedMcpServer> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let OrgTool::Mcp(server) = self.own_tool(OrgToolKind::Mcp, name).await?.tool else {
            return Err(OperationError::NotOwnTool(name.to_owned()));
        };
        store.append_audit(self.audit_entry("test_mcp_server", &name, &json!({}))).await?;
        Ok(self.inner().tools.test_mcp_server(self.org, server).await)
    }

    fn tool_problems(&self, tool: &OrgTool) -> Vec<ToolProblem> {
        let mut problems = tool.check();
        if let OrgTool::Http(tool) = tool {
            let name = tool.name.as_str();
            let is_taken = self.inner().tools.built_in.get(name).is_some();
            if is_taken && !problems.iter().any(|problem| problem.field == "name") {
                let message = format!("there is a built-in tool `{name}`; choose another name");
                problems.push(ToolProblem::new("name", message));
            }
            if let Err(reason) = check_schema(&tool.schema()) {
                problems.push(ToolProblem::new("input", format!("not a JSON Schema: {reason}")));
            }
        }
        problems
    }
}

/// The tools of an org's agents, and its own that are unavailable at the moment.
#[derive(Debug, Clone)]
pub struct OrgToolSet {
    pub tools: Arc<ToolSet>,
    pub unavailable: Vec<UnavailableTool>,
}

/// Returns why an org has no tool of this name. The entry of an unavailable MCP server ends
/// with `*` and stands for all of its tools.
fn no_tool(unavailable: &[UnavailableTool], name: &str) -> OperationError {
    let covers = |known: &str| {
        known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start))
    };
    let name = name.to_owned();
    match unavailable.iter().find(|one| covers(&one.name)) {
        Some(one) => OperationError::ToolUnavailable { name, reason: one.reason.clone() },
        None => OperationError::NotOwnTool(name),
    }
}

/// Returns a definition for the audit log. It contains references to secrets only.
fn definition(tool: &OrgTool) -> Value {
    let text = match tool {
        OrgTool::Http(tool) => encode(tool),
        OrgTool::Mcp(server) => encode(server),
    };
    serde_json::from_str(&text).unwrap_or_default()
}
