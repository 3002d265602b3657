//! Soul proposals: proposed soul changes that a person approves or rejects, and
//! that are then applied.

use ostler_domain::id::{AgentId, OrgId, ProposalId, UserId};
use ostler_domain::soul::SoulHistory;
use ostler_domain::soul::proposal::{Proposal, ProposalAuthor, ProposalError, ProposalStatus};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agents::agent;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::Sql;
use crate::backend::value::{Row, Value};
use crate::conversation::decisions::{self, Decision, DecisionState};
use crate::delivery::notices::{self, NewNotice};
use crate::error::{Result, StoreError};
use crate::tenancy::audited_write::AuditedWrite;
use crate::{OrgStore, Store};

/// A soul proposal and its proposer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredProposal {
    /// Its times are the database's, not those of the node that made it.
    pub proposal: Proposal,
    pub author: ProposalAuthor,
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
    /// Returns a proposal.
    pub fn proposal(&self, id: ProposalId) -> StoreFuture<StoredProposal> {
        let org = self.org;
        self.read(move |tx| decisions::get(tx, org, id.into()))
    }

    /// Returns the proposals in a state after `after`, oldest first.
    pub fn proposals(
        &self,
        state: DecisionState,
        after: Option<ProposalId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredProposal>> {
        let (org, after) = (self.org, after.unwrap_or(ProposalId::from_u128(0)));
        self.read(move |tx| decisions::list(tx, org, state, after.into(), limit))
    }

    /// Returns how many proposals are pending, in the org or for one agent's soul.
    pub fn count_pending_proposals(&self, target: Option<AgentId>) -> StoreFuture<u64> {
        let org = self.org;
        self.read(move |tx| decisions::count::<StoredProposal>(tx, org, target.map(Value::from)))
    }

    /// Returns what an agent has proposed so far.
    pub fn proposal_activity(&self, proposer: AgentId) -> StoreFuture<ProposalActivity> {
        self.one("agent", &ACTIVITY, [proposer.into()], read_activity)
    }
}

impl AuditedWrite<'_> {
    /// Stores a new proposal and the notice about it. Fails with [`StoreError::Conflict`]
    /// if its id is taken.
    pub fn create_proposal(self, proposal: StoredProposal, notice: NewNotice) -> StoreFuture<()> {
        self.run(move |tx, org| {
            decisions::create(tx, org, proposal.clone())?;
            notices::notify(tx, org, &notice).map(drop)
        })
    }

    /// Approves a pending proposal and applies it as a new version of the soul. Of several
    /// decisions the first counts. A proposal whose soul has changed since it was made
    /// becomes superseded.
    pub async fn approve_proposal(self, id: ProposalId, by: UserId) -> Result<StoredProposal> {
        Ok(self
            .run_first(move |tx, org| approve(tx, org, id, by), std::result::Result::is_ok)
            .await??)
    }

    /// Rejects a pending proposal. Of several decisions the first counts.
    pub async fn reject_proposal(
        self,
        id: ProposalId,
        by: UserId,
        reason: &str,
    ) -> Result<StoredProposal> {
        let reason = reason.to_owned();
        let reject = move |tx: &Tx, org| {
            let reject =
                |stored: &mut StoredProposal, now| stored.proposal.reject(by, &reason, now);
            decisions::change(tx, org, id, reject)
        };
        Ok(self.run_first(reject, std::result::Result::is_ok).await??)
    }
}

impl Store {
    /// Expires undecided proposals of all orgs, the longest overdue first, and
    /// returns them.
    pub fn expire_proposals(&self, limit: u32) -> StoreFuture<Vec<(OrgId, StoredProposal)>> {
        self.write_all_orgs(move |tx| decisions::expire(tx, limit))
    }
}

impl Decision for StoredProposal {
    const KIND: &'static str = "proposal";
    const EXPIRES_IN: &'static [DecisionState] = &[DecisionState::Pending];

    fn keys(&self) -> [Value; 3] {
        let author = match self.author {
            ProposalAuthor::Agent(id) | ProposalAuthor::Reflection(id) => id.into(),
            ProposalAuthor::Person(id) => id.into(),
        };
        [self.proposal.id.into(), self.proposal.target.into(), author]
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

fn read_activity(row: &Row) -> Result<ProposalActivity> {
    let count = |column| row.int(column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Ok(ProposalActivity {
        made_today: count(0)?,
        pending: count(1)?,
        last_rejection_at: row.opt_time(2)?,
    })
}

fn approve(
    tx: &Tx,
    org: OrgId,
    id: ProposalId,
    by: UserId,
) -> Result<std::result::Result<StoredProposal, ProposalError>> {
    let pending: StoredProposal = decisions::get(tx, org, id.into())?;
    let target = pending.proposal.target;
    let agent = agent::get(tx, org, target)?;
    let history = SoulHistory::from_versions(agent::soul_versions(tx, org, target)?);
    let mut history = history.ok_or(StoreError::NotFound("soul"))?;
    let apply = |stored: &mut StoredProposal, now| {
        stored.proposal.approve(by, now)?;
        stored.proposal.apply(&agent, &mut history, now)
    };
    let applied = decisions::change(tx, org, id, apply)?;
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
