//! Approvals: tool calls that wait for a person.

use ostler_domain::gate::approval::{ApprovalError, ApprovalStatus};
use ostler_domain::id::ApprovalId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::status::SessionStatus;
use ostler_engine::gate::fingerprint;
use ostler_store::{
    ApprovalVerdict, DecisionFollowUp, DecisionState, FollowUpEntry, StoreError, StoredApproval,
};
use serde_json::{Value, json};

use super::{OperationError, OrgOperations, Result, follow_up_entry};
use crate::records::decode;
use crate::records::entry::InboxEntry;
use crate::records::session::Session;

/// When an approved call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallTiming {
    Now,
    /// The agent is answering something else; the call is made after that.
    AfterTurn,
    /// The session waits for a person; the call is made when an agent gets it back.
    AfterTakeover,
    /// A person has the session; the call is made when an agent gets it back.
    AfterResume,
}

/// When the person who approves a call wants it made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalTiming {
    /// When an agent has the conversation.
    WithAgent,
    /// Also while a person has the conversation. The agent says nothing then: the person
    /// tells the customer.
    AtOnce,
}

impl OrgOperations<'_> {
    /// Returns when the call of an approval is made if it is approved now. Fails if its
    /// session is closed, because it is never made then.
    pub async fn call_timing(&self, id: ApprovalId) -> Result<CallTiming> {
        let store = self.authorize(OrgPermission::View).await?;
        let stored = store.approval(id).await?;
        let session = store.session(stored.approval.session).await?;
        let decoded: Session = decode("session", &session.data)?;
        match decoded.status {
            SessionStatus::HandedOff => {
                let escalation = decoded.open_escalation();
                let waits = escalation.is_some_and(|one| one.state.human.is_none());
                Ok(if waits { CallTiming::AfterTakeover } else { CallTiming::AfterResume })
            }
            SessionStatus::Active if store.is_leased(session.conversation).await? => {
                Ok(CallTiming::AfterTurn)
            }
            SessionStatus::Active => Ok(CallTiming::Now),
            SessionStatus::Closed(_) => Err(withdrawn(id)),
        }
    }

    /// Returns a page of approvals in a state, oldest first. `after` is the last one of the page
    /// before.
    pub async fn approvals(
        &self,
        state: DecisionState,
        after: Option<ApprovalId>,
        limit: u32,
    ) -> Result<Vec<StoredApproval>> {
        Ok(self.authorize(OrgPermission::View).await?.approvals(state, after, limit).await?)
    }

    /// Returns an approval.
    pub async fn approval(&self, id: ApprovalId) -> Result<StoredApproval> {
        Ok(self.authorize(OrgPermission::View).await?.approval(id).await?)
    }

    /// Approves a call. It is made once, under the rules of that moment, and the agent
    /// continues with its outcome.
    pub async fn approve(&self, id: ApprovalId) -> Result<StoredApproval> {
        self.approve_with(id, None, ApprovalTiming::WithAgent).await
    }

    /// Approves a call, with other arguments than the agent asked for if there are any. A call
    /// that was approved before and could not be made, for lack of credits or because a person
    /// has the conversation, is tried again.
    pub async fn approve_with(
        &self,
        id: ApprovalId,
        changed: Option<&Value>,
        timing: ApprovalTiming,
    ) -> Result<StoredApproval> {
        let stored = self.open_approval(id).await?;
        let Some(changed) = changed else {
            if matches!(stored.approval.status, ApprovalStatus::Approved { .. }) {
                return self.retry_call(stored, timing).await;
            }
            return self.decide(id, ApprovalVerdict::Approve, timing, "approve", json!({})).await;
        };
        let tool = stored.approval.tool.as_str();
        let view = self.view().await?;
        let tools = &view.tools;
        if tools.definition(tool).is_none() {
            return Err(OperationError::NoTool(tool.to_owned()));
        }
        if let Some(problem) = tools.argument_problems(tool, changed) {
            return Err(OperationError::BadArguments { tool: tool.to_owned(), problem });
        }
        let (arguments, payload) = (fingerprint(tool, changed), changed.to_string());
        let data = json!({"asked": stored.payload, "changed": changed});
        let verdict = ApprovalVerdict::ApproveWith { arguments, payload };
        self.decide(id, verdict, timing, "approve_with_changes", data).await
    }

    /// Rejects a call; the agent is told the reason.
    pub async fn reject(&self, id: ApprovalId, reason: &str) -> Result<StoredApproval> {
        let reason = reason.trim().to_owned();
        if reason.is_empty() {
            return Err(OperationError::Empty("a reason"));
        }
        self.open_approval(id).await?;
        let data = json!({"reason": reason});
        let (verdict, timing) = (ApprovalVerdict::Reject { reason }, ApprovalTiming::WithAgent);
        self.decide(id, verdict, timing, "reject", data).await
    }

    /// Returns an approval. Fails if its session is closed.
    async fn open_approval(&self, id: ApprovalId) -> Result<StoredApproval> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let stored = store.approval(id).await?;
        let session = store.session(stored.approval.session).await?;
        let session: Session = decode("session", &session.data)?;
        match session.status {
            SessionStatus::Closed(_) => Err(withdrawn(id)),
            SessionStatus::Active | SessionStatus::HandedOff => Ok(stored),
        }
    }

    /// Tries an approved call again that could not be made. It is made once all the same,
    /// because one inbox entry only can use the approval. Fails if the call is about to be
    /// made.
    async fn retry_call(
        &self,
        stored: StoredApproval,
        timing: ApprovalTiming,
    ) -> Result<StoredApproval> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let approval = stored.approval.id;
        let session = store.session(stored.approval.session).await?;
        let decoded: Session = decode("session", &session.data)?;
        let decision = decision_key(approval);
        let waits = decoded.pending_decisions.contains(&approval)
            || store.has_pending_entry(session.conversation, &decision).await?;
        // A call that waits for the agent can still be made at once.
        let at_once = timing == ApprovalTiming::AtOnce;
        if waits && !(at_once && decoded.status == SessionStatus::HandedOff) {
            return Err(OperationError::AlreadyApproved(approval));
        }
        let audit = self.audit_entry("approve", &approval, &json!({"again": true}));
        let key = format!("{decision}:{}", audit.id);
        let then = follow_up_entry(key, &decided_entry(approval, timing));
        store.audited(audit).continue_conversation(session.conversation, then).await?;
        self.wake_conversation(session.conversation).await;
        Ok(stored)
    }

    async fn decide(
        &self,
        id: ApprovalId,
        verdict: ApprovalVerdict,
        timing: ApprovalTiming,
        action: &str,
        data: Value,
    ) -> Result<StoredApproval> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let (by, audit) = (self.actor.user_id(), self.audit_entry(action, &id, &data));
        let session = store.session(store.approval(id).await?.approval.session).await?;
        let decided = follow_up_entry(decision_key(id), &decided_entry(id, timing));
        let follow_up = DecisionFollowUp { decided, expired: approval_expired(id) };
        let decided = store.decide_approval_with_follow_up(id, by, verdict, follow_up, audit).await;
        // A decision that came too late leaves an entry as well.
        self.wake_conversation(session.conversation).await;
        Ok(decided?)
    }
}

const fn decided_entry(approval: ApprovalId, timing: ApprovalTiming) -> InboxEntry {
    let at_once = matches!(timing, ApprovalTiming::AtOnce);
    InboxEntry::ApprovalDecided { approval, at_once }
}

/// Returns the entry that a conversation continues with after an approval expired. There is
/// one for each approval.
pub(crate) fn approval_expired(approval: ApprovalId) -> FollowUpEntry {
    follow_up_entry(format!("expired:{approval}"), &InboxEntry::ApprovalExpired { approval })
}

/// Returns the error of an approval whose session is closed.
fn withdrawn(id: ApprovalId) -> OperationError {
    StoreError::Approval(ApprovalError::Withdrawn(id)).into()
}

/// Returns the provider id of the first inbox entry of a decision; later ones begin with it.
fn decision_key(approval: ApprovalId) -> String {
    format!("decided:{approval}")
}
