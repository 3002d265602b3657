//! Approvals: tool calls that wait for a person, with their arguments.

use std::marker::PhantomData;

use ostler_domain::gate::approval::{Approval, ApprovalError, ApprovalStatus, ArgumentsHash};
use ostler_domain::id::{ApprovalId, OrgId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::conversation::decisions::{self, Decision, DecisionState};
use crate::conversation::inbox::{self, FollowUpEntry};
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::{OrgStore, Store};

/// An approval with the arguments of its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredApproval {
    /// Its times are the database's, not those of the node that asked.
    pub approval: Approval,
    /// JSON.
    pub payload: String,
}

/// The decision of a person on an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalVerdict {
    Approve,
    /// Approves the call with other arguments; `payload` is JSON.
    ApproveWith {
        arguments: ArgumentsHash,
        payload: String,
    },
    /// Rejects the call; the agent learns the reason.
    Reject {
        reason: String,
    },
}

impl OrgStore<'_> {
    /// Stores a new approval.
    pub async fn create_approval(&self, approval: StoredApproval) -> Result<()> {
        self.store.write(decisions::Create(self.org, approval)).await
    }

    /// Returns an approval.
    pub async fn approval(&self, id: ApprovalId) -> Result<StoredApproval> {
        self.store.read(decisions::Get(self.org, id.into(), PhantomData)).await
    }

    /// Lists the approvals in a state, oldest first.
    pub async fn approvals(
        &self,
        state: DecisionState,
        after: Option<ApprovalId>,
        limit: u32,
    ) -> Result<Vec<StoredApproval>> {
        let after = after.unwrap_or(ApprovalId::from_u128(0)).into();
        let list = decisions::List { org: self.org, state, after, limit, of: PhantomData };
        self.store.read(list).await
    }

    /// Lists the pending approvals of a session, oldest first.
    pub async fn pending_approvals(
        &self,
        session: SessionId,
        after: Option<ApprovalId>,
        limit: u32,
    ) -> Result<Vec<StoredApproval>> {
        let after = after.unwrap_or(ApprovalId::from_u128(0)).into();
        let (org, subject) = (self.org, session.into());
        let list = decisions::PendingBySubject { org, subject, after, limit, of: PhantomData };
        self.store.read(list).await
    }

    /// Returns the number of pending approvals, of the org or of one session.
    pub async fn count_pending_approvals(&self, session: Option<SessionId>) -> Result<u64> {
        let subject = session.map(Value::from);
        let count = decisions::Count::<StoredApproval> { org: self.org, subject, of: PhantomData };
        self.store.read(count).await
    }

    /// Decides an approval; the first decision counts.
    pub async fn decide_approval(
        &self,
        id: ApprovalId,
        by: UserId,
        verdict: ApprovalVerdict,
    ) -> Result<StoredApproval> {
        Ok(self.store.write(Decide { org: self.org, id, by, verdict }).await??)
    }

    /// Decides an approval, adds `follow_up` to the inbox of its conversation and `audit`
    /// to the audit trail, in one transaction. If the approval has expired unnoticed,
    /// the follow-up is added and the decision fails.
    pub async fn decide_approval_with_follow_up(
        &self,
        id: ApprovalId,
        by: UserId,
        verdict: ApprovalVerdict,
        follow_up: FollowUpEntry,
        audit: NewAuditEntry,
    ) -> Result<StoredApproval> {
        let decide = Decide { org: self.org, id, by, verdict };
        Ok(self.store.write(DecideWithFollowUp { decide, follow_up, audit }).await??)
    }

    /// Uses an approval for a call with these arguments; succeeds only once.
    pub async fn use_approval(
        &self,
        id: ApprovalId,
        arguments: ArgumentsHash,
    ) -> Result<StoredApproval> {
        Ok(self.store.write(UseApproval(self.org, id, arguments)).await??)
    }
}

impl Store {
    /// Expires overdue approvals of all orgs, the longest overdue first, and returns
    /// them. Adds the entry that `follow_up` makes of each to the inbox of its
    /// conversation, in the same transaction.
    pub async fn expire_approvals(
        &self,
        limit: u32,
        follow_up: fn(&StoredApproval) -> Option<FollowUpEntry>,
    ) -> Result<Vec<(OrgId, StoredApproval)>> {
        self.write(ExpireWithFollowUp(limit, follow_up)).await
    }
}

struct ExpireWithFollowUp(u32, fn(&StoredApproval) -> Option<FollowUpEntry>);

impl Operation for ExpireWithFollowUp {
    type Output = Vec<(OrgId, StoredApproval)>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<Self::Output> {
        let expired = decisions::Expire(self.0, PhantomData).run(tx)?;
        for (org, stored) in &expired {
            if let Some(follow_up) = (self.1)(stored) {
                add_follow_up(tx, *org, stored.approval.session, &follow_up)?;
            }
        }
        Ok(expired)
    }
}

/// Adds an entry to the inbox of a session's conversation, unless the session was
/// deleted.
fn add_follow_up(tx: &Tx, org: OrgId, session: SessionId, follow_up: &FollowUpEntry) -> Result<()> {
    match inbox::conversation_of(tx, org, session) {
        Ok(conversation) => inbox::add_follow_up(tx, org, conversation, follow_up).map(drop),
        Err(StoreError::NotFound(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

impl Decision for StoredApproval {
    const KIND: &'static str = "approval";

    fn keys(&self) -> [Value; 3] {
        [self.approval.id.into(), self.approval.session.into(), self.approval.agent.into()]
    }

    fn state(&self) -> DecisionState {
        match self.approval.status {
            ApprovalStatus::Pending => DecisionState::Pending,
            ApprovalStatus::Approved { .. } => DecisionState::Approved,
            ApprovalStatus::Used { .. } => DecisionState::Used,
            ApprovalStatus::Rejected { .. } => DecisionState::Rejected,
            ApprovalStatus::Expired => DecisionState::Expired,
        }
    }

    fn times(&mut self) -> (&mut Timestamp, &mut Timestamp) {
        (&mut self.approval.requested_at, &mut self.approval.expires_at)
    }

    fn expire(&mut self, now: Timestamp) -> bool {
        self.approval.expire(now)
    }
}

struct Decide {
    org: OrgId,
    id: ApprovalId,
    by: UserId,
    verdict: ApprovalVerdict,
}

impl Operation for Decide {
    type Output = std::result::Result<StoredApproval, ApprovalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Self::Output> {
        let decide = |stored: &mut StoredApproval, now| {
            let approval = &mut stored.approval;
            match &self.verdict {
                ApprovalVerdict::Approve => approval.approve(self.by, now),
                ApprovalVerdict::Reject { reason } => approval.reject(self.by, reason, now),
                ApprovalVerdict::ApproveWith { arguments, payload } => {
                    approval.approve_with_arguments(self.by, *arguments, now)?;
                    stored.payload.clone_from(payload);
                    Ok(())
                }
            }
        };
        decisions::change(tx, self.org, self.id.into(), decide)
    }
}

struct DecideWithFollowUp {
    decide: Decide,
    follow_up: FollowUpEntry,
    audit: NewAuditEntry,
}

impl Operation for DecideWithFollowUp {
    type Output = std::result::Result<StoredApproval, ApprovalError>;

    fn scope(&self) -> Scope {
        self.decide.scope()
    }

    fn run(&self, tx: &Tx) -> Result<Self::Output> {
        let Self { decide: Decide { org, id, .. }, follow_up, audit } = self;
        let decided = self.decide.run(tx)?;
        if matches!(decided, Ok(_) | Err(ApprovalError::JustExpired(_))) {
            let get = decisions::Get::<StoredApproval>(*org, (*id).into(), PhantomData);
            add_follow_up(tx, *org, get.run(tx)?.approval.session, follow_up)?;
        }
        if decided.is_ok() {
            tx.batch(&[audit::append(*org, audit)?])?;
        }
        Ok(decided)
    }
}

struct UseApproval(OrgId, ApprovalId, ArgumentsHash);

impl Operation for UseApproval {
    type Output = std::result::Result<StoredApproval, ApprovalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Self::Output> {
        let Self(org, id, arguments) = *self;
        let use_up = |stored: &mut StoredApproval, _| stored.approval.consume(arguments);
        decisions::change(tx, org, id.into(), use_up)
    }
}
