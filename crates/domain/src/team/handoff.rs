//! Handoffs of a conversation to another agent: the checks and their effect.

use crate::agent::Agent;
use crate::id::{AgentId, OrgId, SessionId};
use crate::money::Credits;
use crate::money::price::MINIMUM_CHARGE;
use crate::session::status::SessionStatus;
use crate::time::Timestamp;

use super::config::{TeamConfig, handoff_permitted};
use super::{HandoffRecord, TeamSession};

/// The arguments of `tag_in_agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRequest {
    pub reason: String,
    /// What the next agent should know.
    pub context_summary: String,
    /// What the next agent might do.
    pub suggested_approach: Option<String>,
}

/// What the checks need to know of the session.
#[derive(Debug, Clone, Copy)]
pub struct HandoffFacts<'a> {
    pub session: SessionId,
    pub org: OrgId,
    pub from: AgentId,
    /// The named agent, if it exists in any org.
    pub target: Option<&'a Agent>,
    /// `None` before the first handoff.
    pub team: Option<&'a TeamSession>,
    /// While a human has the session, no agent hands it over.
    pub status: SessionStatus,
    /// What the org can still spend on the target's first message.
    pub available: Credits,
    pub config: &'a TeamConfig,
}

/// Why a handoff is refused. Nothing has changed; the text is the tool's outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandoffRefused {
    #[error("there is no such agent in this organization")]
    NoSuchAgent,
    #[error("{name} is not active")]
    NotActive { name: String },
    /// A human has the conversation, or was asked to take it.
    #[error("this conversation has been handed to a human")]
    WithHuman,
    /// Another agent has the conversation.
    #[error("a colleague is handling this conversation now")]
    NotYours,
    #[error("you are already handling this conversation")]
    ToItself,
    #[error("you may not hand over to {name}")]
    NotPermitted { name: String },
    #[error("say why you hand over: `reason` must not be empty")]
    NoReason,
    #[error(
        "this conversation was handed over {count} times, which is the limit; use escalate_to_human"
    )]
    CapReached { count: u32 },
    #[error("the last handoff was a moment ago; wait {remaining_secs} more seconds")]
    Cooldown { remaining_secs: u64 },
    /// The org or the team cannot pay for a message of the target.
    #[error("there is not enough credit left for a colleague to answer")]
    NoCredits { available: Credits },
}

/// Why a colleague may not be consulted. The text is the tool's outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsultRefused {
    /// A handoff to them would be refused too.
    #[error(transparent)]
    Handoff(#[from] HandoffRefused),
    /// The org does not allow parallel agents.
    #[error("agents here work one at a time; hand the conversation over instead")]
    OneAtATime,
    /// The colleague is not a participant of the team.
    #[error("{name} takes no part in this conversation; hand it over instead")]
    NotAParticipant { name: String },
}

/// A handoff that passed every check. Only [`validate`] creates one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidHandoff {
    record: HandoffRecord,
    session: SessionId,
    org: OrgId,
    budget: Credits,
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
    check_agents(target, facts)?;
    check_limit_and_cooldown(facts, now)?;
    check_credits(facts)?;
    if !handoff_permitted(facts.config.permissions.as_ref(), facts.from, target.id) {
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

/// Checks whether a colleague may be consulted by the agent that has the conversation
/// and keeps it. Only participants of a team may be, and only if the org allows
/// several agents to work at once.
pub fn may_consult(facts: &HandoffFacts<'_>) -> Result<(), ConsultRefused> {
    let target =
        facts.target.filter(|agent| agent.org == facts.org).ok_or(HandoffRefused::NoSuchAgent)?;
    check_agents(target, facts)?;
    let participants = facts.team.map(TeamSession::participants).unwrap_or_default();
    if !facts.config.allow_parallel_execution {
        return Err(ConsultRefused::OneAtATime);
    }
    let name = target.display_name.clone();
    if facts.config.max_parallel_agents(participants.len()) < 2
        || !participants.contains(&target.id)
    {
        return Err(ConsultRefused::NotAParticipant { name });
    }
    check_credits(facts)?;
    let allowed = handoff_permitted(facts.config.permissions.as_ref(), facts.from, target.id);
    if allowed { Ok(()) } else { Err(HandoffRefused::NotPermitted { name }.into()) }
}

/// Checks that the agent has the conversation and that the target can take it.
fn check_agents(target: &Agent, facts: &HandoffFacts<'_>) -> Result<(), HandoffRefused> {
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

fn check_limit_and_cooldown(
    facts: &HandoffFacts<'_>,
    now: Timestamp,
) -> Result<(), HandoffRefused> {
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
    /// Performs the handoff; the first one creates the team.
    pub fn apply(self, team: &mut Option<TeamSession>) {
        let HandoffRecord { from, to, .. } = self.record;
        let team = team
            .get_or_insert_with(|| TeamSession::start(self.session, self.org, from, self.budget));
        team.add(to);
        team.active = to;
        // Without a summary, keep the old one; if there is none, use the reason.
        let summary = self.record.context_summary.trim();
        if !summary.is_empty() {
            team.shared.summary = Some(summary.to_owned());
        } else if team.shared.summary.as_deref().is_none_or(str::is_empty) {
            team.shared.summary = Some(self.record.reason.clone());
        }
        team.history.push(self.record);
    }
}

/// Returns the text that accompanies the call. It goes to the customer before the next
/// agent's answer, flagged as a transition; white space alone is dropped.
pub fn transition_message(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
