//! Soul proposals: who may propose or apply a change of a soul, and how often.

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Soul, SoulField, SoulHistory, SoulOrigin};
use crate::agent::autonomy::AutonomyLevel;
use crate::agent::{Agent, Protection};
use crate::id::{AgentId, OrgId, ProposalId, UserId};
use crate::org::guardrail::{Capability, Right, right};
use crate::org::layer::{BusinessLayer, BusinessPosition};
use crate::time::Timestamp;

/// Limits of proposals and how long one waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalPolicy {
    /// Maximum number of proposals of an agent in a UTC day.
    pub max_per_day: u32,
    /// Maximum number of proposals that wait for a decision.
    pub max_pending: u32,
    /// How long an agent may not propose after a rejection.
    #[serde(rename = "pause_after_rejection_secs", with = "crate::time::secs")]
    pub pause_after_rejection: Duration,
    /// How long a proposal waits for a decision.
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

/// Fields that an agent never changes on its own initiative. Blocked topics are not part
/// of a soul, so no proposal can change them.
const GUARDED_FIELDS: [SoulField; 2] = [SoulField::NeverDo, SoulField::EscalationTriggers];

/// Who made a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalAuthor {
    /// An agent, in a conversation.
    Agent(AgentId),
    /// An agent that looked back at recent sessions.
    Reflection(AgentId),
    Person(UserId),
}

/// Who initiated a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initiative {
    Own,
    /// The owner told the agent to.
    OwnerDirected,
}

/// The proposing agent and its earlier proposals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposer {
    pub position: BusinessPosition,
    pub org: OrgId,
    pub autonomy: AutonomyLevel,
    pub initiative: Initiative,
    pub made_today: u32,
    pub pending: u32,
    pub last_rejection_at: Option<Timestamp>,
}

/// What happens to a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposalDecision {
    /// It waits for a person.
    Pending,
    /// It is applied at once.
    Apply,
    /// It is dropped without an error to the agent, and recorded in the audit log.
    SilentlyRejected,
}

/// Why a proposal is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposalRefused {
    #[error("{0} may not evolve souls")]
    Layer(BusinessLayer),
    /// The soul belongs to the agent's template.
    #[error("`{0}` speaks with the soul of its template")]
    TemplatesSoul(String),
    #[error("no agent `{0}` in this org")]
    OtherOrg(String),
    #[error("`{0}` has no soul yet; a person writes the first one")]
    NoSoul(String),
    #[error("this proposal changes nothing")]
    NoChange,
    /// It changes fields that only the owner may change.
    #[error("an agent may not change these on its own, ask the owner: {}", join_names(.0))]
    Guarded(BTreeSet<SoulField>),
    #[error("enough proposals were made today; try again tomorrow")]
    TooManyToday,
    #[error("enough proposals are waiting for a decision")]
    TooManyPending,
    #[error("a proposal was rejected a short while ago; wait before the next one")]
    RecentlyRejected,
}

/// Decides what happens to a proposal to change the soul of `target`.
pub fn decide_proposal(
    proposer: &Proposer,
    target: &Agent,
    current: &Soul,
    proposed: &Soul,
    policy: ProposalPolicy,
    now: Timestamp,
) -> Result<ProposalDecision, ProposalRefused> {
    // Protected souls come first: the agent learns nothing about them.
    if target.protection == Protection::Protected {
        return Ok(ProposalDecision::SilentlyRejected);
    }
    if target.template.is_some() {
        return Err(ProposalRefused::TemplatesSoul(target.slug.clone()));
    }
    let layer = proposer.position.guardrail_layer;
    let decision = match right(layer, Capability::SoulEvolution) {
        Right::Yes if proposer.autonomy == AutonomyLevel::Autonomous => ProposalDecision::Apply,
        Right::Yes => ProposalDecision::Pending,
        Right::Propose if target.org == proposer.org => ProposalDecision::Pending,
        Right::Propose => return Err(ProposalRefused::OtherOrg(target.slug.clone())),
        _ => return Err(ProposalRefused::Layer(layer)),
    };
    let changed = current.changed_fields(proposed);
    if changed.is_empty() {
        return Err(ProposalRefused::NoChange);
    }
    check_guarded(proposer.initiative, &changed)?;
    if decision == ProposalDecision::Pending {
        check_proposal_limit(proposer, policy, now)?;
    }
    Ok(decision)
}

fn check_guarded(
    initiative: Initiative,
    changed: &BTreeSet<SoulField>,
) -> Result<(), ProposalRefused> {
    let touched = guarded_fields(changed);
    if initiative == Initiative::Own && !touched.is_empty() {
        return Err(ProposalRefused::Guarded(touched));
    }
    Ok(())
}

/// Returns the changed fields that only the owner may change.
pub fn guarded_fields(changed: &BTreeSet<SoulField>) -> BTreeSet<SoulField> {
    GUARDED_FIELDS.into_iter().filter(|field| changed.contains(field)).collect()
}

fn join_names(fields: &BTreeSet<SoulField>) -> String {
    fields.iter().map(|field| field.name()).collect::<Vec<_>>().join(", ")
}

/// Checks that an agent may make another proposal now.
pub fn check_proposal_limit(
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

/// Status of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProposalStatus {
    Pending,
    /// A person approved it; it is not applied yet.
    Approved {
        by: UserId,
    },
    /// It is applied as version `after`.
    Applied {
        by: UserId,
        before: u32,
        after: u32,
    },
    Rejected {
        by: UserId,
        reason: String,
    },
    Expired,
    /// The soul changed, or became protected, before the proposal could be applied.
    Superseded,
}

/// A stored proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    pub id: ProposalId,
    /// The agent whose soul it would change.
    pub target: AgentId,
    /// The version it was made against.
    pub base_version: u32,
    pub soul: Soul,
    /// Why it was made, in a sentence or two. The status of a rejected one is stored beside
    /// it, with a `reason` of its own.
    #[serde(default, rename = "rationale")]
    pub reason: String,
    pub made_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(flatten)]
    pub status: ProposalStatus,
}

/// Why a proposal cannot be decided or applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProposalError {
    #[error("{0} is not waiting for this any more")]
    Over(ProposalId),
    /// It expired with this call.
    #[error("{0} has expired; nothing was changed")]
    JustExpired(ProposalId),
    /// The soul has changed since, and applying the proposal would undo that.
    #[error("{id} was made against version {base} and the soul is at {current}; propose it again")]
    Stale { id: ProposalId, base: u32, current: u32 },
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

    /// Approves the proposal.
    pub fn approve(&mut self, by: UserId, now: Timestamp) -> Result<(), ProposalError> {
        self.decide(ProposalStatus::Approved { by }, now)
    }

    /// Rejects the proposal.
    pub fn reject(
        &mut self,
        by: UserId,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), ProposalError> {
        self.decide(ProposalStatus::Rejected { by, reason: reason.to_owned() }, now)
    }

    /// Expires the proposal when its time is over; returns whether it expired now.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let over = self.status == ProposalStatus::Pending && now >= self.expires_at;
        if over {
            self.status = ProposalStatus::Expired;
        }
        over
    }

    /// Applies an approved proposal as a new version.
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
        if agent.id != self.target {
            return Err(ProposalError::WrongTarget(self.id));
        }
        if !own_soul {
            self.status = ProposalStatus::Superseded;
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
