//! Calls outside of which nobody knows what became.

use ostler_domain::id::CallId;
use ostler_domain::org::duty::Duty;
use ostler_engine::outcome::Outcome;
use ostler_store::Call;
use serde_json::json;

use super::{Office, OperationError, Result, goes_on};
use crate::talk::entry::Entry;
use crate::talk::write;

impl Office<'_> {
    /// Calls whose outcome nobody knows, oldest first; those after the last one
    /// of the page before.
    pub async fn unknown_calls(&self, after: Option<CallId>, most: u32) -> Result<Vec<Call>> {
        Ok(self.allowed(Duty::Look).await?.unknown_calls(after, most).await?)
    }

    /// Says what became of one, in words; the agent goes on with that.
    pub async fn resolve_unknown(&self, call: CallId, outcome: &str) -> Result<()> {
        let store = self.allowed(Duty::Work).await?;
        let outcome = outcome.trim().to_owned();
        if outcome.is_empty() {
            return Err(OperationError::Empty("what became of the call"));
        }
        let line = self.line("resolve_unknown", &call, &json!({"outcome": outcome}));
        let known = write(&Outcome::ok(outcome.clone()));
        let entry = Entry::Resolved { call, outcome };
        let then = goes_on(format!("resolved:{call}"), &entry);
        let conversation = store.resolve_unknown_in(call, known, then, line).await?;
        self.ring_in(conversation).await;
        Ok(())
    }
}
