//! Calls that wait for a person.

use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::ApprovalId;
use ostler_domain::org::duty::Duty;
use ostler_domain::session::status::{SessionStatus, StatusChange};
use ostler_engine::gate::fingerprint;
use ostler_store::{DecisionState, StoredApproval, Verdict};
use serde_json::{Value, json};

use super::{Office, OperationError, Result, goes_on};
use crate::talk::entry::Entry;
use crate::talk::read;
use crate::talk::session::Session;

impl Office<'_> {
    /// Approvals in a state, oldest first; those after the last one of the page
    /// before.
    pub async fn approvals(
        &self,
        state: DecisionState,
        after: Option<ApprovalId>,
        most: u32,
    ) -> Result<Vec<StoredApproval>> {
        Ok(self.allowed(Duty::Look).await?.approvals(state, after, most).await?)
    }

    /// An approval.
    pub async fn approval(&self, id: ApprovalId) -> Result<StoredApproval> {
        Ok(self.allowed(Duty::Look).await?.approval(id).await?)
    }

    /// Says yes: the call is made as it was asked for, once, under the rules of
    /// that moment, and the agent goes on with what comes of it. One that was
    /// approved and could not be made then, since there were no credits, is tried
    /// again.
    pub async fn approve(&self, id: ApprovalId) -> Result<StoredApproval> {
        let asked = self.still_open(id).await?;
        if matches!(asked.approval.status, ApprovalStatus::Approved { .. }) {
            return self.try_again(asked).await;
        }
        self.decide(id, Verdict::Approve, "approve", json!({})).await
    }

    /// Says yes to other arguments than the agent had asked for.
    pub async fn approve_with(&self, id: ApprovalId, changed: &Value) -> Result<StoredApproval> {
        let asked = self.still_open(id).await?;
        let tool = asked.approval.tool.as_str();
        let tools = &self.inner().tools;
        if tools.definition(tool).is_none() {
            return Err(OperationError::NoTool(tool.to_owned()));
        }
        if let Some(problem) = tools.problem_with(tool, changed) {
            return Err(OperationError::BadArguments { tool: tool.to_owned(), problem });
        }
        let (arguments, payload) = (fingerprint(tool, changed), changed.to_string());
        let data = json!({"asked": asked.payload, "changed": changed});
        let verdict = Verdict::ApproveWith { arguments, payload };
        self.decide(id, verdict, "approve_with_changes", data).await
    }

    /// Says no; the agent is told why.
    pub async fn reject(&self, id: ApprovalId, reason: &str) -> Result<StoredApproval> {
        let reason = reason.trim().to_owned();
        if reason.is_empty() {
            return Err(OperationError::Empty("a reason"));
        }
        let data = json!({"reason": reason});
        self.decide(id, Verdict::Reject { reason }, "reject", data).await
    }

    /// An approval whose session can still go on with it.
    async fn still_open(&self, id: ApprovalId) -> Result<StoredApproval> {
        let store = self.allowed(Duty::Work).await?;
        let stored = store.approval(id).await?;
        let session = store.session(stored.approval.session).await?;
        let session: Session = read("session", &session.data)?;
        if let closed @ SessionStatus::Closed(_) = session.status {
            closed.after(StatusChange::TakeOver)?;
        }
        Ok(stored)
    }

    /// An approval is used up just before its call is made, so however often the
    /// conversation goes on with it, the call is made once.
    async fn try_again(&self, asked: StoredApproval) -> Result<StoredApproval> {
        let store = self.allowed(Duty::Work).await?;
        let approval = asked.approval.id;
        let session = store.session(asked.approval.session).await?;
        let line = self.line("approve", &approval, &json!({"again": true}));
        let repeat = format!("decided:{approval}:{}", line.id);
        let then = goes_on(repeat, &Entry::Decided { approval });
        store.audited(line).go_on(session.conversation, then).await?;
        self.ring_in(session.conversation).await;
        Ok(asked)
    }

    async fn decide(
        &self,
        id: ApprovalId,
        verdict: Verdict,
        action: &str,
        data: Value,
    ) -> Result<StoredApproval> {
        let store = self.allowed(Duty::Work).await?;
        let (by, line) = (self.actor.person(), self.line(action, &id, &data));
        let session = store.session(store.approval(id).await?.approval.session).await?;
        let decided = store.decide_approval_in(id, by, verdict, decided(id), line).await;
        // It may have turned out that nobody had decided in time.
        self.ring_in(session.conversation).await;
        Ok(decided?)
    }
}

/// What a conversation goes on with when one of its calls is decided.
pub(crate) fn decided(approval: ApprovalId) -> ostler_store::GoesOn {
    goes_on(format!("decided:{approval}"), &Entry::Decided { approval })
}
