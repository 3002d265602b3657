//! Soul proposals: proposed soul changes that a person approves or rejects, and
//! that are then applied.

use std::marker::PhantomData;

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, OrgId, ProposalId, UserId};
use ostler_domain::soul::SoulHistory;
use ostler_domain::soul::proposal::{Proposal, ProposalError, ProposalStatus};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agents::agent;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::conversation::decisions::{self, Decision, DecisionState};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// A soul proposal and its proposer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredProposal {
    /// Its times are the database's, not those of the node that made it.
    pub proposal: Proposal,
    /// The agent that made it.
    pub proposer: AgentId,
}

/// An agent's proposals so far, as far as they limit its next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalActivity {
    /// In the current UTC day.
    pub made_today: u32,
    pub pending: u32,
    pub last_rejection_at: Option<Timestamp>,
}

const ACTIVITY: Sql = Sql {
    sqlite: "SELECT coalesce(sum(CASE WHEN requested_at / 86400000 = now_ms() / 86400000
                THEN 1 ELSE 0 END), 0),
         coalesce(sum(CASE WHEN state = 'pending' THEN 1 ELSE 0 END), 0),
         max(CASE WHEN state = 'rejected' THEN decided_at END)
       FROM decisions INDEXED BY decisions_by_requester
       WHERE org = ?1 AND kind = 'proposal' AND requested_by = ?2",
    postgres: "SELECT coalesce(sum(CASE WHEN requested_at / 86400000 = now_ms() / 86400000
                THEN 1 ELSE 0 END), 0),
         coalesce(sum(CASE WHEN state = 'pending' THEN 1 ELSE 0 END), 0),
         max(CASE WHEN state = 'rejected' THEN decided_at END)
       FROM decisions WHERE org = $1 AND kind = 'proposal' AND requested_by = $2",
};

impl OrgStore<'_> {
    /// Stores a new proposal. Fails with [`StoreError::Conflict`] if its id is taken.
    pub async fn create_proposal(&self, proposal: StoredProposal) -> Result<()> {
        self.store.write(decisions::Create(self.org, proposal)).await
    }

    /// Returns a proposal.
    pub async fn proposal(&self, id: ProposalId) -> Result<StoredProposal> {
        self.store.read(decisions::Get(self.org, id.into(), PhantomData)).await
    }

    /// Returns the proposals in a state after `after`, oldest first.
    pub async fn proposals(
        &self,
        state: DecisionState,
        after: Option<ProposalId>,
        limit: u32,
    ) -> Result<Vec<StoredProposal>> {
        let after = after.unwrap_or(ProposalId::from_u128(0)).into();
        let list = decisions::List { org: self.org, state, after, limit, of: PhantomData };
        self.store.read(list).await
    }

    /// Returns how many proposals are pending, in the org or for one agent's soul.
    pub async fn count_pending_proposals(&self, target: Option<AgentId>) -> Result<u64> {
        let subject = target.map(Value::from);
        let count = decisions::Count::<StoredProposal> { org: self.org, subject, of: PhantomData };
        self.store.read(count).await
    }

    /// Returns what an agent has proposed so far.
    pub async fn proposal_activity(&self, proposer: AgentId) -> Result<ProposalActivity> {
        self.store.read(ReadActivity(self.org, proposer)).await
    }

    /// Approves a pending proposal. Of several decisions the first counts.
    pub async fn approve_proposal(&self, id: ProposalId, by: UserId) -> Result<StoredProposal> {
        Ok(self.store.write(Decide { org: self.org, id, by, rejection: None }).await??)
    }

    /// Rejects a pending proposal. Of several decisions the first counts.
    pub async fn reject_proposal(
        &self,
        id: ProposalId,
        by: UserId,
        reason: &str,
    ) -> Result<StoredProposal> {
        let rejection = Some(reason.to_owned());
        Ok(self.store.write(Decide { org: self.org, id, by, rejection }).await??)
    }

    /// Applies an approved proposal once, as a new version of the soul. A proposal
    /// whose soul has changed since it was made becomes superseded.
    pub async fn apply_proposal(&self, id: ProposalId) -> Result<StoredProposal> {
        Ok(self.store.write(Apply(self.org, id)).await??)
    }
}

impl Store {
    /// Expires undecided proposals of all orgs, the longest overdue first, and
    /// returns them.
    pub async fn expire_proposals(&self, limit: u32) -> Result<Vec<(OrgId, StoredProposal)>> {
        self.write(decisions::Expire(limit, PhantomData)).await
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

struct ReadActivity(OrgId, AgentId);

impl Operation for ReadActivity {
    type Output = ProposalActivity;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<ProposalActivity> {
        let row = tx.first(&ACTIVITY, &[self.0.into(), self.1.into()])?;
        let row = row.ok_or(StoreError::NotFound("agent"))?;
        let count = |column| row.int(column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Ok(ProposalActivity {
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
    /// The reason; `None` approves.
    rejection: Option<String>,
}

impl Operation for Decide {
    type Output = std::result::Result<StoredProposal, ProposalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Self::Output> {
        let decide = |stored: &mut StoredProposal, now| match &self.rejection {
            None => stored.proposal.approve(self.by, now),
            Some(reason) => stored.proposal.reject(self.by, reason, now),
        };
        decisions::change(tx, self.org, self.id.into(), decide)
    }
}

struct Apply(OrgId, ProposalId);

impl Operation for Apply {
    type Output = std::result::Result<StoredProposal, ProposalError>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Self::Output> {
        let Self(org, id) = *self;
        let approved = decisions::Get::<StoredProposal>(org, id.into(), PhantomData).run(tx)?;
        let target = approved.proposal.target;
        let agent: Agent = agent::get(tx, org, target)?;
        let versions = agent::soul_versions(tx, org, target)?;
        let history = SoulHistory::from_versions(versions);
        let mut history = history.ok_or(StoreError::NotFound("soul"))?;
        let apply =
            |stored: &mut StoredProposal, now| stored.proposal.apply(&agent, &mut history, now);
        let applied = decisions::change(tx, org, id.into(), apply)?;
        if applied.is_ok() {
            let pushed = agent::push_soul(tx, org, target, history.current());
            // The soul has changed concurrently: try again.
            pushed.map_err(|error| match error {
                StoreError::Conflict(_) => StoreError::Busy,
                other => other,
            })?;
        }
        Ok(applied)
    }
}
