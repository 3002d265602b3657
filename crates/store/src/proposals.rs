//! Soul proposals: changes of a soul that wait for a person, and are applied.

use std::marker::PhantomData;

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, OrgId, ProposalId, UserId};
use ostler_domain::soul::SoulHistory;
use ostler_domain::soul::proposal::{Proposal, ProposalError, ProposalStatus};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agents;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::decisions::{self, Decision, DecisionState};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// A proposal and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredProposal {
    /// The proposal. The times in it are the database's, not those of the node
    /// that it was made on.
    pub proposal: Proposal,
    /// The agent that made it.
    pub proposer: AgentId,
}

/// What an agent has proposed so far, as far as it limits the next proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalPace {
    /// The proposals of this UTC day.
    pub made_today: u32,
    /// The proposals that wait.
    pub pending: u32,
    /// When one was last rejected.
    pub last_rejection_at: Option<Timestamp>,
}

const PACE: Sql = Sql {
    sqlite: "SELECT coalesce(sum(CASE WHEN asked_at / 86400000 = now_ms() / 86400000
                THEN 1 ELSE 0 END), 0),
         coalesce(sum(CASE WHEN state = 'pending' THEN 1 ELSE 0 END), 0),
         max(CASE WHEN state = 'rejected' THEN decided_at END)
       FROM decisions INDEXED BY decisions_asked_by
       WHERE org = ?1 AND kind = 'proposal' AND asker = ?2",
    postgres: "SELECT coalesce(sum(CASE WHEN asked_at / 86400000 = now_ms() / 86400000
                THEN 1 ELSE 0 END), 0),
         coalesce(sum(CASE WHEN state = 'pending' THEN 1 ELSE 0 END), 0),
         max(CASE WHEN state = 'rejected' THEN decided_at END)
       FROM decisions WHERE org = $1 AND kind = 'proposal' AND asker = $2",
};

impl OrgStore<'_> {
    /// Stores a new proposal.
    pub async fn create_proposal(&self, proposal: StoredProposal) -> Result<()> {
        self.store.write(decisions::Create(self.org, proposal)).await
    }

    /// A proposal.
    pub async fn proposal(&self, id: ProposalId) -> Result<StoredProposal> {
        self.store.read(decisions::Get(self.org, id.into(), PhantomData)).await
    }

    /// The proposals in a state after one of them, oldest first.
    pub async fn proposals(
        &self,
        state: DecisionState,
        after: Option<ProposalId>,
        most: u32,
    ) -> Result<Vec<StoredProposal>> {
        let after = after.unwrap_or(ProposalId::from_u128(0)).into();
        let list = decisions::List { org: self.org, state, after, most, of: PhantomData };
        self.store.read(list).await
    }

    /// How many proposals wait, in the org or for one agent's soul.
    pub async fn count_pending_proposals(&self, target: Option<AgentId>) -> Result<u64> {
        let subject = target.map(Value::from);
        let count = decisions::Count::<StoredProposal> { org: self.org, subject, of: PhantomData };
        self.store.read(count).await
    }

    /// What an agent has proposed so far.
    pub async fn proposal_pace(&self, proposer: AgentId) -> Result<ProposalPace> {
        self.store.read(Pace(self.org, proposer)).await
    }

    /// A person says yes; of several who decide, the first counts.
    pub async fn approve_proposal(&self, id: ProposalId, by: UserId) -> Result<StoredProposal> {
        Ok(self.store.write(Decide { org: self.org, id, by, rejection: None }).await??)
    }

    /// A person says no; of several who decide, the first counts.
    pub async fn reject_proposal(
        &self,
        id: ProposalId,
        by: UserId,
        reason: &str,
    ) -> Result<StoredProposal> {
        let rejection = Some(reason.to_owned());
        Ok(self.store.write(Decide { org: self.org, id, by, rejection }).await??)
    }

    /// Puts an approved proposal into force as a new version of the soul, once.
    /// One whose soul has changed since it was made is superseded.
    pub async fn apply_proposal(&self, id: ProposalId) -> Result<StoredProposal> {
        Ok(self.store.write(Apply(self.org, id)).await??)
    }
}

impl Store {
    /// Ends proposals of all orgs that nobody decided in time, the longest
    /// overdue first, and says which.
    pub async fn expire_proposals(&self, most: u32) -> Result<Vec<(OrgId, StoredProposal)>> {
        self.write(decisions::Expire(most, PhantomData)).await
    }
}

impl Decision for StoredProposal {
    const KIND: &'static str = "proposal";

    fn keys(&self) -> [Value; 3] {
        [self.proposal.id.into(), self.proposal.target.into(), self.proposer.into()]
    }

    fn state(&self) -> DecisionState {
        match self.proposal.status {
            ProposalStatus::Pending => DecisionState::Pending,
            ProposalStatus::Approved { .. } => DecisionState::Approved,
            ProposalStatus::Applied { .. } => DecisionState::Applied,
            ProposalStatus::Rejected { .. } => DecisionState::Rejected,
            ProposalStatus::Expired => DecisionState::Expired,
            ProposalStatus::Superseded => DecisionState::Superseded,
        }
    }

    fn times(&mut self) -> (&mut Timestamp, &mut Timestamp) {
        (&mut self.proposal.made_at, &mut self.proposal.expires_at)
    }

    fn expire(&mut self, now: Timestamp) -> bool {
        self.proposal.expire(now)
    }
}

struct Pace(OrgId, AgentId);

impl Operation for Pace {
    type Output = ProposalPace;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<ProposalPace> {
        let row = tx.first(&PACE, &[self.0.into(), self.1.into()]).await?;
        let row = row.ok_or(StoreError::NotFound("agent"))?;
        let count = |column| row.int(column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Ok(ProposalPace {
            made_today: count(0)?,
            pending: count(1)?,
            last_rejection_at: row.opt_int(2)?.map(Timestamp::from_millis),
        })
    }
}

struct Decide {
    org: OrgId,
    id: ProposalId,
    by: UserId,
    /// The reason; none means yes.
    rejection: Option<String>,
}

impl Operation for Decide {
    type Output = std::result::Result<StoredProposal, ProposalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let decide = |stored: &mut StoredProposal, now| match &self.rejection {
            None => stored.proposal.approve(self.by, now),
            Some(reason) => stored.proposal.reject(self.by, reason, now),
        };
        decisions::change(tx, self.org, self.id.into(), decide).await
    }
}

struct Apply(OrgId, ProposalId);

impl Operation for Apply {
    type Output = std::result::Result<StoredProposal, ProposalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let Self(org, id) = *self;
        let waiting = decisions::Get::<StoredProposal>(org, id.into(), PhantomData).run(tx).await?;
        let target = waiting.proposal.target;
        let agent: Agent = agents::get(tx, org, target).await?;
        let versions = agents::soul_versions(tx, org, target).await?;
        let history = SoulHistory::from_versions(versions);
        let mut history = history.ok_or(StoreError::NotFound("soul"))?;
        let apply =
            |stored: &mut StoredProposal, now| stored.proposal.apply(&agent, &mut history, now);
        let applied = decisions::change(tx, org, id.into(), apply).await?;
        if applied.is_ok() {
            let pushed = agents::push_soul(tx, org, target, history.current()).await;
            // Somebody else has changed the soul just now: look again.
            pushed.map_err(|error| match error {
                StoreError::Conflict(_) => StoreError::Busy,
                other => other,
            })?;
        }
        Ok(applied)
    }
}
