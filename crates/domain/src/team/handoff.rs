//! Handing a conversation to a colleague: the checks, and what it changes.

use crate::agent::Agent;
use crate::id::{AgentId, OrgId, SessionId};
use crate::money::Credits;
use crate::money::price::MINIMUM_CHARGE;
use crate::session::status::SessionStatus;
use crate::time::Timestamp;

use super::config::{TeamConfig, permitted};
use super::{HandoffRecord, TeamSession};

/// What an agent asks for with `tag_in_agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRequest {
    /// Why.
    pub reason: String,
    /// What the next one should know.
    pub context_summary: String,
    /// What the next one might do.
    pub suggested_approach: Option<String>,
}

/// The session as the checks see it.
#[derive(Debug, Clone, Copy)]
pub struct HandoffFacts<'a> {
    /// The session.
    pub session: SessionId,
    /// Its tenant.
    pub org: OrgId,
    /// The agent that hands over.
    pub from: AgentId,
    /// The agent that was named, if it exists in any org.
    pub target: Option<&'a Agent>,
    /// The team so far; none before the first handoff.
    pub team: Option<&'a TeamSession>,
    /// The session's status: while a human has it, no agent hands it over.
    pub status: SessionStatus,
    /// What the org can still spend on the target's first message.
    pub available: Credits,
    /// The org's settings.
    pub config: &'a TeamConfig,
}

/// Why a handoff is refused. Nothing was changed; the agent is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandoffRefused {
    /// No such agent in this org.
    #[error("there is no such agent in this organization")]
    NoSuchAgent,
    /// The agent is not working.
    #[error("{name} is not active")]
    NotActive {
        /// Its name.
        name: String,
    },
    /// A human has the conversation, or was asked to take it.
    #[error("this conversation has been handed to a human")]
    WithHuman,
    /// Somebody else has the conversation.
    #[error("a colleague is handling this conversation now")]
    NotYours,
    /// An agent cannot hand over to itself.
    #[error("you are already handling this conversation")]
    ToItself,
    /// The settings do not allow this pair.
    #[error("you may not hand over to {name}")]
    NotPermitted {
        /// The target's name.
        name: String,
    },
    /// The reason is missing.
    #[error("say why you hand over: `reason` must not be empty")]
    NoReason,
    /// Too many handoffs.
    #[error(
        "this conversation was handed over {count} times, which is the most; use escalate_to_human"
    )]
    CapReached {
        /// How many there were.
        count: u32,
    },
    /// Too soon after the last handoff.
    #[error("the last handoff was a moment ago; wait {remaining_secs} more seconds")]
    Cooldown {
        /// How long it still takes.
        remaining_secs: u64,
    },
    /// Nothing left to pay the target with.
    #[error("there is not enough credit left for a colleague to answer")]
    NoCredits {
        /// What is left.
        available: Credits,
    },
}

/// Why a colleague does not work beside the agent that has a conversation. That
/// agent is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsultRefused {
    /// The conversation could not be handed over to them either.
    #[error(transparent)]
    Handoff(#[from] HandoffRefused),
    /// The agents of the org work one after the other.
    #[error("agents here work one at a time; hand the conversation over instead")]
    OneAtATime,
    /// A colleague who is not one of the team.
    #[error("{name} takes no part in this conversation; hand it over instead")]
    NotTakingPart {
        /// Its name.
        name: String,
    },
}

/// A handoff that passed every check. Only [`validate`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidHandoff {
    record: HandoffRecord,
    session: SessionId,
    org: OrgId,
    budget: Credits,
    /// Whether the owner hears of it.
    pub notify_owner: bool,
}

/// Checks a handoff against every rule, in order.
pub fn validate(
    request: &HandoffRequest,
    facts: &HandoffFacts<'_>,
    now: Timestamp,
) -> Result<ValidHandoff, HandoffRefused> {
    let target =
        facts.target.filter(|agent| agent.org == facts.org).ok_or(HandoffRefused::NoSuchAgent)?;
    check_people(target, facts)?;
    check_pace(facts, now)?;
    check_credits(facts)?;
    if !permitted(facts.config.permissions.as_ref(), facts.from, target.id) {
        return Err(HandoffRefused::NotPermitted { name: target.display_name.clone() });
    }
    let reason = request.reason.trim();
    if reason.is_empty() && facts.config.require_handoff_reason {
        return Err(HandoffRefused::NoReason);
    }
    let record = HandoffRecord {
        from: facts.from,
        to: target.id,
        reason: reason.to_owned(),
        context_summary: request.context_summary.clone(),
        suggested_approach: request.suggested_approach.clone(),
        at: now,
    };
    Ok(ValidHandoff {
        record,
        session: facts.session,
        org: facts.org,
        budget: facts.config.budget,
        notify_owner: facts.config.notify_owner_on_handoff,
    })
}

/// Checks whether a colleague may work beside the agent that has the
/// conversation, which keeps it. Only the agents of a team do, and only where the
/// org lets several of them work at once.
pub fn may_consult(facts: &HandoffFacts<'_>) -> Result<(), ConsultRefused> {
    let target =
        facts.target.filter(|agent| agent.org == facts.org).ok_or(HandoffRefused::NoSuchAgent)?;
    check_people(target, facts)?;
    let participants = facts.team.map(TeamSession::participants).unwrap_or_default();
    if !facts.config.allow_parallel_execution {
        return Err(ConsultRefused::OneAtATime);
    }
    let name = target.display_name.clone();
    if facts.config.agents_at_once(participants.len()) < 2 || !participants.contains(&target.id) {
        return Err(ConsultRefused::NotTakingPart { name });
    }
    check_credits(facts)?;
    let allowed = permitted(facts.config.permissions.as_ref(), facts.from, target.id);
    if allowed { Ok(()) } else { Err(HandoffRefused::NotPermitted { name }.into()) }
}

/// The one who hands over has the conversation, and the target can take it.
fn check_people(target: &Agent, facts: &HandoffFacts<'_>) -> Result<(), HandoffRefused> {
    if !facts.status.agent_answers() {
        Err(HandoffRefused::WithHuman)
    } else if facts.team.is_some_and(|team| team.active() != facts.from) {
        Err(HandoffRefused::NotYours)
    } else if !target.receives_messages() {
        Err(HandoffRefused::NotActive { name: target.display_name.clone() })
    } else if target.id == facts.from {
        Err(HandoffRefused::ToItself)
    } else {
        Ok(())
    }
}

fn check_pace(facts: &HandoffFacts<'_>, now: Timestamp) -> Result<(), HandoffRefused> {
    let history = facts.team.map(TeamSession::history).unwrap_or_default();
    let count = u32::try_from(history.len()).unwrap_or(u32::MAX);
    if count >= facts.config.max_handoffs {
        return Err(HandoffRefused::CapReached { count });
    }
    let waited = history.last().map(|last| now.since(last.at));
    match waited.and_then(|waited| facts.config.handoff_cooldown.checked_sub(waited)) {
        Some(remaining) if !remaining.is_zero() => {
            let remaining_secs = remaining.as_millis().div_ceil(1000) as u64;
            Err(HandoffRefused::Cooldown { remaining_secs })
        }
        _ => Ok(()),
    }
}

fn check_credits(facts: &HandoffFacts<'_>) -> Result<(), HandoffRefused> {
    let team = facts.team.map_or(facts.config.budget, |team| team.budget.remaining());
    let available = facts.available.min(team);
    if available < MINIMUM_CHARGE { Err(HandoffRefused::NoCredits { available }) } else { Ok(()) }
}

impl ValidHandoff {
    /// Makes the handoff; the first one makes the team.
    pub fn apply(self, team: &mut Option<TeamSession>) {
        let HandoffRecord { from, to, .. } = self.record;
        let team = team
            .get_or_insert_with(|| TeamSession::start(self.session, self.org, from, self.budget));
        team.add(to);
        team.active = to;
        // Without a summary the reason is what the next one goes by; an older
        // summary stays.
        let summary = self.record.context_summary.trim();
        if !summary.is_empty() {
            team.shared.summary = Some(summary.to_owned());
        } else if team.shared.summary.as_deref().is_none_or(str::is_empty) {
            team.shared.summary = Some(self.record.reason.clone());
        }
        team.history.push(self.record);
    }
}

/// What an agent writes beside the call goes to the customer before the next
/// agent's answer, flagged as a transition; white space is nothing.
pub fn transition_message(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
