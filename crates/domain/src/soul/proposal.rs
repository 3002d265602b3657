//! Soul proposals: who may propose or apply a change, and how often.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Soul, SoulField, SoulHistory, SoulOrigin};
use crate::agent::{Agent, Protection};
use crate::id::{OrgId, ProposalId, UserId};
use crate::org::guardrail::{Capability, Right, right};
use crate::org::layer::{BusinessLayer, Standing};
use crate::time::Timestamp;

/// Proposals an agent may make in a UTC day.
pub const MAX_PER_DAY: u32 = 3;
/// Proposals that may wait at one time.
pub const MAX_PENDING: u32 = 5;
/// The pause after a rejection.
pub const PAUSE_AFTER_REJECTION: Duration = Duration::from_secs(24 * 3600);
/// How long a proposal waits.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(72 * 3600);
/// Fields that an agent never changes on its own initiative. Blocked topics
/// are no part of a soul, so no proposal can reach them at all.
pub const GUARDED_FIELDS: [SoulField; 2] = [SoulField::NeverDo, SoulField::EscalationTriggers];

/// Whose idea a proposal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initiative {
    /// The agent's own.
    Own,
    /// The owner told the agent to.
    OwnerDirected,
}

/// Who proposes, and what they have proposed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposer {
    /// Where the agent stands.
    pub standing: Standing,
    /// Its org.
    pub org: OrgId,
    /// Whose idea it is.
    pub initiative: Initiative,
    /// Proposals made today.
    pub made_today: u32,
    /// Proposals that wait.
    pub pending: u32,
    /// When one was last rejected.
    pub last_rejection_at: Option<Timestamp>,
}

/// What becomes of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalRuling {
    /// It waits for a person.
    Pending,
    /// It is applied at once.
    Apply,
    /// It is dropped without an error to the agent; the audit log has it.
    SilentlyRejected,
}

/// Why a proposal is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposalRefused {
    /// The layer has no say in souls.
    #[error("{0} may not evolve souls")]
    Layer(BusinessLayer),
    /// The agent is not one of the proposer's org.
    #[error("no agent `{0}` in this org")]
    OtherOrg(String),
    /// It would change nothing.
    #[error("this proposal changes nothing")]
    NoChange,
    /// It touches what only an owner may touch.
    #[error("an agent may not change {0:?} on its own; ask the owner")]
    Guarded(BTreeSet<SoulField>),
    /// Enough for today.
    #[error("{MAX_PER_DAY} proposals were made today; try again tomorrow")]
    TooManyToday,
    /// Enough is waiting.
    #[error("{MAX_PENDING} proposals are waiting for a decision")]
    TooManyPending,
    /// One was just rejected.
    #[error("a proposal was rejected less than a day ago")]
    RecentlyRejected,
}

/// What becomes of a proposal to change the soul of `target`.
pub fn rule(
    proposer: &Proposer,
    target: &Agent,
    current: &Soul,
    proposed: &Soul,
    now: Timestamp,
) -> Result<ProposalRuling, ProposalRefused> {
    // Protected souls come first: the agent is to learn nothing about them.
    if target.protection == Protection::Protected {
        return Ok(ProposalRuling::SilentlyRejected);
    }
    let layer = proposer.standing.guarded_as;
    let ruling = match right(layer, Capability::SoulEvolution) {
        Right::Yes => ProposalRuling::Apply,
        Right::Propose if target.org == proposer.org => ProposalRuling::Pending,
        Right::Propose => return Err(ProposalRefused::OtherOrg(target.slug.clone())),
        _ => return Err(ProposalRefused::Layer(layer)),
    };
    let changed = current.changed_fields(proposed);
    if changed.is_empty() {
        return Err(ProposalRefused::NoChange);
    }
    if ruling == ProposalRuling::Pending {
        check_guarded(proposer.initiative, &changed)?;
        check_pace(proposer, now)?;
    }
    Ok(ruling)
}

fn check_guarded(
    initiative: Initiative,
    changed: &BTreeSet<SoulField>,
) -> Result<(), ProposalRefused> {
    let touched: BTreeSet<SoulField> =
        GUARDED_FIELDS.into_iter().filter(|field| changed.contains(field)).collect();
    if initiative == Initiative::Own && !touched.is_empty() {
        return Err(ProposalRefused::Guarded(touched));
    }
    Ok(())
}

fn check_pace(proposer: &Proposer, now: Timestamp) -> Result<(), ProposalRefused> {
    let rejected_at = proposer.last_rejection_at;
    if rejected_at.is_some_and(|at| now.since(at) < PAUSE_AFTER_REJECTION) {
        Err(ProposalRefused::RecentlyRejected)
    } else if proposer.made_today >= MAX_PER_DAY {
        Err(ProposalRefused::TooManyToday)
    } else if proposer.pending >= MAX_PENDING {
        Err(ProposalRefused::TooManyPending)
    } else {
        Ok(())
    }
}

/// Where a proposal stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProposalStatus {
    /// It waits for a person.
    Pending,
    /// A person said yes; it is not in force yet.
    Approved {
        /// Who.
        by: UserId,
    },
    /// It is in force as this version.
    Applied {
        /// Who had approved it.
        by: UserId,
        /// The version that it replaced.
        before: u32,
        /// The version that it made.
        after: u32,
    },
    /// A person said no.
    Rejected {
        /// Who.
        by: UserId,
        /// Why.
        reason: String,
    },
    /// Nobody answered in time.
    Expired,
}

/// A proposal that was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// The soul it proposes.
    pub soul: Soul,
    /// When it was made.
    pub made_at: Timestamp,
    /// Where it stands.
    pub status: ProposalStatus,
}

/// The proposal's status does not allow this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not waiting for this any more")]
pub struct ProposalOver(pub ProposalId);

impl Proposal {
    fn decide(&mut self, status: ProposalStatus, now: Timestamp) -> Result<(), ProposalOver> {
        self.expire(now);
        if self.status != ProposalStatus::Pending {
            return Err(ProposalOver(self.id));
        }
        self.status = status;
        Ok(())
    }

    /// A person says yes.
    pub fn approve(&mut self, by: UserId, now: Timestamp) -> Result<(), ProposalOver> {
        self.decide(ProposalStatus::Approved { by }, now)
    }

    /// A person says no.
    pub fn reject(&mut self, by: UserId, reason: &str, now: Timestamp) -> Result<(), ProposalOver> {
        self.decide(ProposalStatus::Rejected { by, reason: reason.to_owned() }, now)
    }

    /// Ends it when its time is over; says whether it did just now.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let over =
            self.status == ProposalStatus::Pending && now.since(self.made_at) >= EXPIRES_AFTER;
        if over {
            self.status = ProposalStatus::Expired;
        }
        over
    }

    /// Puts an approved proposal into force as a new version.
    pub fn apply(&mut self, history: &mut SoulHistory, now: Timestamp) -> Result<(), ProposalOver> {
        let ProposalStatus::Approved { by } = self.status else {
            return Err(ProposalOver(self.id));
        };
        let before = history.current().version;
        let origin = SoulOrigin::Proposal(self.id);
        let after = history.push(self.soul.clone(), origin, now).version;
        self.status = ProposalStatus::Applied { by, before, after };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
