//! The team harness: several agents, or a human, in one session.
//!
//! Owns who is answering, how agents hand over, and what they share. Handing
//! over to a person is [`crate::human`].

pub mod config;
pub mod handoff;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::human::escalation::{Escalation, Urgency};
use crate::id::{AgentId, OrgId, SessionId, UserId};
use crate::money::Credits;
use crate::money::caps::TeamBudget;
use crate::time::Timestamp;

/// One handoff, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffRecord {
    /// Who handed over.
    pub from: AgentId,
    /// To whom.
    pub to: AgentId,
    /// Why.
    pub reason: String,
    /// What the next one should know.
    pub context_summary: String,
    /// What the next one might do.
    pub suggested_approach: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// What all agents of a team session know.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SharedContext {
    /// The latest summary.
    pub summary: Option<String>,
    /// The contact's data.
    pub customer_profile: BTreeMap<String, String>,
    /// What the customer wants to achieve; stays until it is changed.
    pub conversation_goal: Option<String>,
    /// A note for each agent, which the others do not see.
    pub handoff_notes: BTreeMap<AgentId, String>,
}

/// The state of a team session; kept on the session across turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamSession {
    /// The session it belongs to.
    pub id: SessionId,
    /// The tenant all agents belong to.
    pub org: OrgId,
    /// The agent that the session began with, to which a human hands back.
    pub primary: AgentId,
    participants: Vec<AgentId>,
    active: AgentId,
    history: Vec<HandoffRecord>,
    /// What all of them know.
    pub shared: SharedContext,
    /// What they may spend together.
    pub budget: TeamBudget,
}

/// Why agents cannot be made a team.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamRefused {
    /// A team of nobody.
    #[error("a team needs at least one agent")]
    Nobody,
    /// An agent of another org.
    #[error("no agent `{0}` in this organization")]
    OtherOrg(String),
    /// An agent that is not working.
    #[error("{0} is not active")]
    NotActive(String),
}

impl TeamSession {
    /// A team of the given agents, as an operator assigns them or a group chat
    /// has them. The first of them answers; later mentions of the same agent
    /// are dropped.
    pub fn assemble(
        id: SessionId,
        org: OrgId,
        agents: &[&Agent],
        budget: Credits,
    ) -> Result<Self, TeamRefused> {
        let [first, ..] = agents else { return Err(TeamRefused::Nobody) };
        let mut team = Self::start(id, org, first.id, budget);
        for agent in agents {
            if agent.org != org {
                return Err(TeamRefused::OtherOrg(agent.slug.clone()));
            }
            if !agent.receives_messages() {
                return Err(TeamRefused::NotActive(agent.display_name.clone()));
            }
            team.add(agent.id);
        }
        Ok(team)
    }

    /// A team of one, which the first handoff enlarges.
    fn start(id: SessionId, org: OrgId, primary: AgentId, budget: Credits) -> Self {
        Self {
            id,
            org,
            primary,
            participants: vec![primary],
            active: primary,
            history: Vec::new(),
            shared: SharedContext::default(),
            budget: TeamBudget::new(budget, primary),
        }
    }

    fn add(&mut self, agent: AgentId) {
        if !self.participants.contains(&agent) {
            self.participants.push(agent);
        }
    }

    /// Everybody who takes or took part, each once.
    pub fn participants(&self) -> &[AgentId] {
        &self.participants
    }

    /// Who answers now.
    pub const fn active(&self) -> AgentId {
        self.active
    }

    /// Every handoff so far, oldest first.
    pub fn history(&self) -> &[HandoffRecord] {
        &self.history
    }

    /// Gives the conversation back to the agent it began with.
    pub const fn return_to_primary(&mut self) {
        self.active = self.primary;
    }
}

/// Who answers: the active agent of a team, until it hands over, else the
/// session's own.
pub fn effective_agent(session_agent: AgentId, team: Option<&TeamSession>) -> AgentId {
    team.map_or(session_agent, TeamSession::active)
}

/// Who answers the same message next: after a handoff in mid-turn, the agent
/// that was tagged in, in the same run. `before` is how many handoffs there
/// were when the turn began.
pub fn continues_with(before: usize, team: Option<&TeamSession>) -> Option<AgentId> {
    team.filter(|team| team.history.len() > before).map(TeamSession::active)
}

/// The agents of a group chat in the order of their bindings: the lowest
/// priority number answers first.
pub fn group_order<'a>(bound: &[(&'a Agent, u32)]) -> Vec<&'a Agent> {
    let mut bound = bound.to_vec();
    bound.sort_by_key(|(agent, priority)| (*priority, agent.created_at, agent.id));
    bound.into_iter().map(|(agent, _)| agent).collect()
}

/// All that one read of a session shows of its team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct TeamView<'a> {
    pub is_team_session: bool,
    pub participating_agent_ids: Vec<AgentId>,
    pub active_agent_id: AgentId,
    pub handoff_history: &'a [HandoffRecord],
    pub shared_context: Option<&'a str>,
    pub human_escalation_requested: bool,
    pub human_escalation_reason: Option<&'a str>,
    pub human_escalation_urgency: Option<Urgency>,
    pub human_agent_user_id: Option<UserId>,
    pub human_takeover_at: Option<Timestamp>,
}

/// The view of a session with this agent; one without a team has a view too.
pub fn view<'a>(
    session_agent: AgentId,
    team: Option<&'a TeamSession>,
    escalation: Option<&'a Escalation>,
) -> TeamView<'a> {
    let open = escalation.filter(|escalation| escalation.status.is_open());
    TeamView {
        is_team_session: team.is_some(),
        participating_agent_ids: team
            .map_or_else(|| vec![session_agent], |team| team.participants.clone()),
        active_agent_id: effective_agent(session_agent, team),
        handoff_history: team.map(TeamSession::history).unwrap_or_default(),
        shared_context: team.and_then(|team| team.shared.summary.as_deref()),
        human_escalation_requested: open.is_some(),
        human_escalation_reason: open.map(|escalation| escalation.request.reason.as_str()),
        human_escalation_urgency: open.map(|escalation| escalation.request.urgency),
        human_agent_user_id: open.and_then(|escalation| escalation.human),
        human_takeover_at: open.and_then(|escalation| escalation.taken_over_at),
    }
}

#[cfg(test)]
mod tests;
