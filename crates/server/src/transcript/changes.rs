//! What people did with a session, from the audit log.

use ostler_api::transcript::SessionChange;
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{SessionId, UserId};
use ostler_runtime::operations::{Actor, NamedAuditEntry, OperationError, OrgOperations, Result};
use ostler_runtime::records::run::RunRecord;
use ostler_store::{AuditFilter, StoreError};
use serde_json::Value;

/// The most entries of a session or an approval that are read.
const LIMIT: u32 = 200;

/// Returns what people did with a session and decided about its calls, in order.
pub(super) async fn of_session(
    operations: &OrgOperations<'_>,
    id: SessionId,
    runs: &[RunRecord],
) -> Result<Vec<SessionChange>> {
    let mut changes = about(operations, id.to_string()).await?;
    let turns = runs.iter().flat_map(|run| &run.turns);
    for id in turns.flat_map(|turn| &turn.approvals) {
        let tool = match operations.approval(*id).await {
            Ok(stored) => stored.approval.tool.to_string(),
            Err(OperationError::Store(StoreError::NotFound(_))) => continue,
            Err(other) => return Err(other),
        };
        let decided = about(operations, id.to_string()).await?.into_iter();
        changes.extend(decided.map(|one| SessionChange { tool: Some(tool.clone()), ..one }));
    }
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

async fn about(operations: &OrgOperations<'_>, subject: String) -> Result<Vec<SessionChange>> {
    let filter = AuditFilter { subject: Some(subject), ..AuditFilter::default() };
    let entries = operations.audit(&filter, None, LIMIT).await?;
    Ok(entries.into_iter().filter_map(change).collect())
}

/// Returns the change, unless it shows as a message already.
fn change(named: NamedAuditEntry) -> Option<SessionChange> {
    let entry = named.entry;
    let by = match entry.entry.actor {
        AuditActor::User(user) => Some(user),
        AuditActor::Key(key) => Some(UserId::from_u128(key.as_u128())),
        AuditActor::Terminal => Some(Actor::Terminal.user_id()),
        AuditActor::Agent(_) | AuditActor::System => None,
    };
    let who = match entry.entry.actor {
        AuditActor::Terminal => "a person (terminal)".to_owned(),
        AuditActor::User(_) => format!("a person ({})", named.actor),
        AuditActor::Key(_) => format!("a {}", named.actor),
        AuditActor::Agent(_) | AuditActor::System => "ostler".to_owned(),
    };
    let (at, action) = (entry.at, entry.entry.action);
    let data: Value = serde_json::from_str(&entry.entry.data).unwrap_or_default();
    let reason = data["reason"].as_str().or_else(|| data["resolution"].as_str());
    let reason = reason.map(ToOwned::to_owned);
    let change = SessionChange { at, who, by, action, tool: None, reason };
    (change.action != "human_message").then_some(change)
}
