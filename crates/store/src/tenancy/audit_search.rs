//! Searching the audit log by actor, action, object and time.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::AuditId;
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::error::Result;
use crate::tenancy::audit::{AuditEntry, read_entry};

/// Which audit entries are wanted. `None` means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub actor: Option<AuditActor>,
    pub action: Option<String>,
    /// The id of the affected object, as text.
    pub subject: Option<String>,
    /// Whether entries about parts of the object (`ID/step`) are wanted too.
    pub with_parts: bool,
    /// At or after this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

/// Without the hint SQLite reads all entries of the org.
macro_rules! search {
    ($index:literal, $sqlite:literal, $postgres:literal) => {
        Sql {
            sqlite: concat!(
                "SELECT id, at, actor, action, subject, data FROM audit ",
                $index,
                " WHERE org = ?1 AND id < ?2 AND ",
                $sqlite,
                " AND (?4 = '' OR actor = ?4) AND (?5 = '' OR action = ?5)
                 AND at >= ?7 AND at < ?8
                 ORDER BY id DESC LIMIT ?3"
            ),
            postgres: concat!(
                "SELECT id, at, actor, action, subject, data FROM audit
                 WHERE org = $1 AND id < $2 AND ",
                $postgres,
                " AND ($4 = '' OR actor = $4) AND ($5 = '' OR action = $5)
                 AND at >= $7 AND at < $8
                 ORDER BY id DESC LIMIT $3"
            ),
        }
    };
}

/// With an empty subject, which every search without one has.
const ALL: Sql = search!("", "?6 = ''", "$6 = ''");
const BY_SUBJECT: Sql = search!("INDEXED BY audit_by_subject", "subject = ?6", "subject = $6");
/// The parts of an object are between `ID/` and `ID0`, because `0` follows the slash.
const WITH_PARTS: Sql = search!(
    "INDEXED BY audit_by_subject",
    "(subject = ?6 OR (subject > ?6 || '/' AND subject < ?6 || '0'))",
    "(subject = $6 OR starts_with(subject, $6 || '/'))"
);
const BY_ACTOR: Sql =
    search!("INDEXED BY audit_by_actor", "actor = ?4 AND ?6 = ''", "actor = $4 AND $6 = ''");
const BY_ACTION: Sql =
    search!("INDEXED BY audit_by_action", "action = ?5 AND ?6 = ''", "action = $5 AND $6 = ''");

impl OrgStore<'_> {
    /// Returns the entries before `before` that a filter selects, newest first.
    pub async fn search_audit(
        &self,
        filter: &AuditFilter,
        before: Option<AuditId>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>> {
        let AuditFilter { actor, action, subject, with_parts, since, until } = filter;
        let sql = match (subject, actor, action) {
            (Some(_), _, _) if *with_parts => &WITH_PARTS,
            (Some(_), _, _) => &BY_SUBJECT,
            (None, Some(_), _) => &BY_ACTOR,
            (None, None, Some(_)) => &BY_ACTION,
            (None, None, None) => &ALL,
        };
        let params = [
            before.unwrap_or(AuditId::from_u128(u128::MAX)).into(),
            limit.into(),
            actor.as_ref().map_or_else(|| Ok("".into()), Value::json)?,
            action.clone().unwrap_or_default().into(),
            subject.clone().unwrap_or_default().into(),
            since.unwrap_or(Timestamp::from_millis(i64::MIN)).into(),
            until.unwrap_or(Timestamp::from_millis(i64::MAX)).into(),
        ];
        self.rows(sql, params, read_entry).await
    }
}
