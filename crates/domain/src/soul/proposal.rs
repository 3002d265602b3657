//! Soul proposals: who may propose or apply a change, and how often.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Soul, SoulField, SoulHistory, SoulOrigin};
use crate::agent::{Agent, Protection};
use crate::id::{AgentId, OrgId, ProposalId, UserId};
use crate::org::guardrail::{Capability, Right, right};
use crate::org::layer::{BusinessLayer, Standing};
use crate::time::Timestamp;

/// How often an agent may propose, and how long a proposal waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalPolicy {
    /// Proposals an agent may make in a UTC day.
    pub max_per_day: u32,
    /// Proposals that may wait at one time.
    pub max_pending: u32,
    /// The pause after a rejection.
    #[serde(rename = "pause_after_rejection_secs", with = "crate::time::secs")]
    pub pause_after_rejection: Duration,
    /// How long a proposal waits.
    #[serde(rename = "expires_after_secs", with = "crate::time::secs")]
    pub expires_after: Duration,
}

impl Default for ProposalPolicy {
    fn default() -> Self {
        const HOUR: u64 = 3600;
        Self {
            max_per_day: 3,
            max_pending: 5,
            pause_after_rejection: Duration::from_secs(24 * HOUR),
            expires_after: Duration::from_secs(72 * HOUR),
        }
    }
}

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
    /// The soul belongs to the agent's template.
    #[error("`{0}` speaks with the soul of its template")]
    TemplatesSoul(String),
    /// The agent is not one of the proposer's org.
    #[error("no agent `{0}` in this org")]
    OtherOrg(String),
    /// It would change nothing.
    #[error("this proposal changes nothing")]
    NoChange,
    /// It touches what only an owner may touch.
    #[error("an agent may not change these on its own, ask the owner: {}", names(.0))]
    Guarded(BTreeSet<SoulField>),
    /// Enough for today.
    #[error("enough proposals were made today; try again tomorrow")]
    TooManyToday,
    /// Enough is waiting.
    #[error("enough proposals are waiting for a decision")]
    TooManyPending,
    /// One was just rejected.
    #[error("a proposal was rejected a short while ago; wait before the next one")]
    RecentlyRejected,
}

/// What becomes of a proposal to change the soul of `target`.
pub fn rule(
    proposer: &Proposer,
    target: &Agent,
    current: &Soul,
    proposed: &Soul,
    policy: ProposalPolicy,
    now: Timestamp,
) -> Result<ProposalRuling, ProposalRefused> {
    // Protected souls come first: the agent is to learn nothing about them.
    if target.protection == Protection::Protected {
        return Ok(ProposalRuling::SilentlyRejected);
    }
    if target.template.is_some() {
        return Err(ProposalRefused::TemplatesSoul(target.slug.clone()));
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
    check_guarded(proposer.initiative, &changed)?;
    if ruling == ProposalRuling::Pending {
        check_pace(proposer, policy, now)?;
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

fn names(fields: &BTreeSet<SoulField>) -> String {
    fields.iter().map(|field| field.name()).collect::<Vec<_>>().join(", ")
}

fn check_pace(
    proposer: &Proposer,
    policy: ProposalPolicy,
    now: Timestamp,
) -> Result<(), ProposalRefused> {
    let rejected_at = proposer.last_rejection_at;
    if rejected_at.is_some_and(|at| now.since(at) < policy.pause_after_rejection) {
        Err(ProposalRefused::RecentlyRejected)
    } else if proposer.made_today >= policy.max_per_day {
        Err(ProposalRefused::TooManyToday)
    } else if proposer.pending >= policy.max_pending {
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
    /// The soul was changed otherwise before it could be applied.
    Superseded,
}

/// A proposal that was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// The agent whose soul it would change.
    pub target: AgentId,
    /// The version that it was made against.
    pub base_version: u32,
    /// The soul it proposes.
    pub soul: Soul,
    /// When it was made.
    pub made_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// Where it stands.
    #[serde(flatten)]
    pub status: ProposalStatus,
}

/// Why a proposal cannot be decided or applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProposalError {
    /// It is not waiting for this.
    #[error("{0} is not waiting for this any more")]
    Over(ProposalId),
    /// Its time was over and nobody had noticed: it has expired just now.
    #[error("{0} has expired; nothing was changed")]
    JustExpired(ProposalId),
    /// The soul has changed since, and applying it would undo that.
    #[error("{id} was made against version {base} and the soul is at {current}; propose it anew")]
    Stale {
        /// The proposal.
        id: ProposalId,
        /// The version that it was made against.
        base: u32,
        /// The version in force.
        current: u32,
    },
    /// It is for another agent, or the agent has become protected.
    #[error("{0} does not apply to this agent")]
    WrongTarget(ProposalId),
}

impl Proposal {
    fn decide(&mut self, status: ProposalStatus, now: Timestamp) -> Result<(), ProposalError> {
        if self.expire(now) {
            return Err(ProposalError::JustExpired(self.id));
        }
        if self.status != ProposalStatus::Pending {
            return Err(ProposalError::Over(self.id));
        }
        self.status = status;
        Ok(())
    }

    /// A person says yes.
    pub fn approve(&mut self, by: UserId, now: Timestamp) -> Result<(), ProposalError> {
        self.decide(ProposalStatus::Approved { by }, now)
    }

    /// A person says no.
    pub fn reject(
        &mut self,
        by: UserId,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), ProposalError> {
        self.decide(ProposalStatus::Rejected { by, reason: reason.to_owned() }, now)
    }

    /// Ends it when its time is over; says whether it did just now.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let over = self.status == ProposalStatus::Pending && now >= self.expires_at;
        if over {
            self.status = ProposalStatus::Expired;
        }
        over
    }

    /// Puts an approved proposal into force as a new version.
    pub fn apply(
        &mut self,
        agent: &Agent,
        history: &mut SoulHistory,
        now: Timestamp,
    ) -> Result<(), ProposalError> {
        let ProposalStatus::Approved { by } = self.status else {
            return Err(ProposalError::Over(self.id));
        };
        let own_soul = agent.protection == Protection::Open && agent.template.is_none();
        if agent.id != self.target || !own_soul {
            return Err(ProposalError::WrongTarget(self.id));
        }
        let (id, base, current) = (self.id, self.base_version, history.current().version);
        if base != current {
            self.status = ProposalStatus::Superseded;
            return Err(ProposalError::Stale { id, base, current });
        }
        let after = history.push(self.soul.clone(), SoulOrigin::Proposal(id), now).version;
        self.status = ProposalStatus::Applied { by, before: base, after };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
