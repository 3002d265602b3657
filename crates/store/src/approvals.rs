//! Approvals: calls that wait for a person, with their arguments.

use std::marker::PhantomData;

use ostler_domain::gate::approval::{Approval, ApprovalError, ApprovalStatus, ArgumentsHash};
use ostler_domain::id::{ApprovalId, OrgId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::audit::{self, NewAudit};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::decisions::{self, Decision, DecisionState};
use crate::error::{Result, StoreError};
use crate::inbox::{self, GoesOn};
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

    /// Decides an approval of a conversation's session: the conversation goes on
    /// with that, and the line is added, all at once. One that turns out to have
    /// expired unnoticed is refused, and the conversation goes on with its end.
    pub async fn decide_approval_in(
        &self,
        id: ApprovalId,
        by: UserId,
        verdict: Verdict,
        then: GoesOn,
        line: NewAudit,
    ) -> Result<StoredApproval> {
        let decide = Decide { org: self.org, id, by, verdict };
        Ok(self.store.write(DecideIn { decide, then, line }).await??)
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
    /// overdue first, and says which. What `then` makes of one is what its
    /// conversation goes on with, in the same transaction.
    pub async fn expire_approvals(
        &self,
        most: u32,
        then: fn(&StoredApproval) -> Option<GoesOn>,
    ) -> Result<Vec<(OrgId, StoredApproval)>> {
        self.write(ExpireIn(most, then)).await
    }
}

struct ExpireIn(u32, fn(&StoredApproval) -> Option<GoesOn>);

impl Operation for ExpireIn {
    type Output = Vec<(OrgId, StoredApproval)>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let expired = decisions::Expire(self.0, PhantomData).run(tx).await?;
        for (org, stored) in &expired {
            if let Some(then) = (self.1)(stored) {
                tell(tx, *org, stored.approval.session, &then).await?;
            }
        }
        Ok(expired)
    }
}

/// Has the conversation of a session go on. A session that was deleted has none.
async fn tell<T: Tx>(tx: &T, org: OrgId, session: SessionId, then: &GoesOn) -> Result<()> {
    match inbox::conversation_of(tx, org, session).await {
        Ok(conversation) => inbox::go_on(tx, org, conversation, then).await.map(drop),
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

struct DecideIn {
    decide: Decide,
    then: GoesOn,
    line: NewAudit,
}

impl Operation for DecideIn {
    type Output = std::result::Result<StoredApproval, ApprovalError>;

    fn scope(&self) -> Scope {
        self.decide.scope()
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let Self { decide: Decide { org, id, .. }, then, line } = self;
        let decided = self.decide.run(tx).await?;
        if matches!(decided, Ok(_) | Err(ApprovalError::JustExpired(_))) {
            let get = decisions::Get::<StoredApproval>(*org, (*id).into(), PhantomData);
            tell(tx, *org, get.run(tx).await?.approval.session, then).await?;
        }
        if decided.is_ok() {
            tx.batch(&[audit::append(*org, line)?]).await?;
        }
        Ok(decided)
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
