//! Approvals: calls that wait for a person, with their arguments.

use std::marker::PhantomData;

use ostler_domain::gate::approval::{Approval, ApprovalError, ApprovalStatus, ArgumentsHash};
use ostler_domain::id::{ApprovalId, OrgId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::decisions::{self, Decision, DecisionState};
use crate::error::Result;
use crate::{OrgStore, Store};

/// An approval and what it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredApproval {
    /// The approval. The times in it are the database's, not those of the node
    /// that asked.
    pub approval: Approval,
    /// The arguments of the call, as JSON.
    pub payload: String,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Approve,
    /// Yes, but with other arguments.
    ApproveWith {
        /// Their fingerprint.
        arguments: ArgumentsHash,
        /// The arguments, as JSON.
        payload: String,
    },
    /// No.
    Reject {
        /// Why; the agent is told.
        reason: String,
    },
}

impl OrgStore<'_> {
    /// Stores a new approval.
    pub async fn create_approval(&self, approval: StoredApproval) -> Result<()> {
        self.store.write(decisions::Create(self.org, approval)).await
    }

    /// An approval.
    pub async fn approval(&self, id: ApprovalId) -> Result<StoredApproval> {
        self.store.read(decisions::Get(self.org, id.into(), PhantomData)).await
    }

    /// The approvals in a state after one of them, oldest first.
    pub async fn approvals(
        &self,
        state: DecisionState,
        after: Option<ApprovalId>,
        most: u32,
    ) -> Result<Vec<StoredApproval>> {
        let after = after.unwrap_or(ApprovalId::from_u128(0)).into();
        let list = decisions::List { org: self.org, state, after, most, of: PhantomData };
        self.store.read(list).await
    }

    /// The approvals of a session that wait, after one of them, oldest first.
    pub async fn pending_approvals(
        &self,
        session: SessionId,
        after: Option<ApprovalId>,
        most: u32,
    ) -> Result<Vec<StoredApproval>> {
        let after = after.unwrap_or(ApprovalId::from_u128(0)).into();
        let (org, subject) = (self.org, session.into());
        let list = decisions::PendingAbout { org, subject, after, most, of: PhantomData };
        self.store.read(list).await
    }

    /// How many approvals wait, in the org or in one session of it.
    pub async fn count_pending_approvals(&self, session: Option<SessionId>) -> Result<u64> {
        let subject = session.map(Value::from);
        let count = decisions::Count::<StoredApproval> { org: self.org, subject, of: PhantomData };
        self.store.read(count).await
    }

    /// Decides an approval; of several who do, the first counts.
    pub async fn decide_approval(
        &self,
        id: ApprovalId,
        by: UserId,
        verdict: Verdict,
    ) -> Result<StoredApproval> {
        Ok(self.store.write(Decide { org: self.org, id, by, verdict }).await??)
    }

    /// Uses an approval for a call with these arguments. Whoever is answered may
    /// run it; nobody is answered twice.
    pub async fn use_approval(
        &self,
        id: ApprovalId,
        arguments: ArgumentsHash,
    ) -> Result<StoredApproval> {
        Ok(self.store.write(Take(self.org, id, arguments)).await??)
    }
}

impl Store {
    /// Ends approvals of all orgs that nobody decided in time, the longest
    /// overdue first, and says which.
    pub async fn expire_approvals(&self, most: u32) -> Result<Vec<(OrgId, StoredApproval)>> {
        self.write(decisions::Expire(most, PhantomData)).await
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
    verdict: Verdict,
}

impl Operation for Decide {
    type Output = std::result::Result<StoredApproval, ApprovalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let decide = |stored: &mut StoredApproval, now| {
            let approval = &mut stored.approval;
            match &self.verdict {
                Verdict::Approve => approval.approve(self.by, now),
                Verdict::Reject { reason } => approval.reject(self.by, reason, now),
                Verdict::ApproveWith { arguments, payload } => {
                    approval.approve_with(self.by, *arguments, now)?;
                    stored.payload.clone_from(payload);
                    Ok(())
                }
            }
        };
        decisions::change(tx, self.org, self.id.into(), decide).await
    }
}

struct Take(OrgId, ApprovalId, ArgumentsHash);

impl Operation for Take {
    type Output = std::result::Result<StoredApproval, ApprovalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let Self(org, id, arguments) = *self;
        let take = |stored: &mut StoredApproval, _| stored.approval.take(arguments);
        decisions::change(tx, org, id.into(), take).await
    }
}
