//! External calls whose outcome is unknown.

use ostler_domain::id::CallId;
use ostler_domain::org::permission::OrgPermission;
use ostler_engine::outcome::ToolOutcome;
use ostler_store::StoredCall;
use serde_json::json;

use super::{OperationError, OrgOperations, Result, follow_up_entry};
use crate::records::encode;
use crate::records::entry::InboxEntry;

impl OrgOperations<'_> {
    /// Returns a page of calls with an unknown outcome, oldest first. `after` is the last one of
    /// the page before.
    pub async fn unknown_calls(
        &self,
        after: Option<CallId>,
        limit: u32,
    ) -> Result<Vec<StoredCall>> {
        Ok(self.authorize(OrgPermission::View).await?.unknown_outcomes(after, limit).await?)
    }

    /// Records the outcome of a call as text; the agent continues with it.
    pub async fn resolve_unknown(&self, call: CallId, outcome: &str) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let outcome = outcome.trim().to_owned();
        if outcome.is_empty() {
            return Err(OperationError::Empty("the outcome of the call"));
        }
        let audit = self.audit_entry("resolve_unknown", &call, &json!({"outcome": outcome}));
        let known = encode(&ToolOutcome::ok(outcome.clone()));
        let entry = InboxEntry::OutcomeResolved { call, outcome };
        let then = follow_up_entry(format!("resolved:{call}"), &entry);
        let conversation =
            store.resolve_unknown_outcome_with_follow_up(call, known, then, audit).await?;
        self.wake_conversation(conversation).await;
        Ok(())
    }
}
