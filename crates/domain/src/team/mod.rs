//! The team harness: several agents, or a human, in one session.
//!
//! Owns which agent answers, handoffs between agents, and what they share. Escalation to
//! a person is in [`crate::human`].

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

/// A completed handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffRecord {
    pub from: AgentId,
    pub to: AgentId,
    pub reason: String,
    /// What the next agent should know.
    pub context_summary: String,
    /// What the next agent might do.
    pub suggested_approach: Option<String>,
    pub at: Timestamp,
}

/// Context that all agents of a team session share.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SharedContext {
    pub summary: Option<String>,
    pub customer_profile: BTreeMap<String, String>,
    /// What the customer wants to achieve; stays until it is changed.
    pub conversation_goal: Option<String>,
    /// A note for each agent, which the others do not see.
    pub handoff_notes: BTreeMap<AgentId, String>,
}

/// State of a team session; kept on the session across turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamSession {
    pub id: SessionId,
    /// The org that all agents belong to.
    pub org: OrgId,
    /// The agent that the session began with; it continues after a human.
    pub primary: AgentId,
    participants: Vec<AgentId>,
    active: AgentId,
    history: Vec<HandoffRecord>,
    pub shared: SharedContext,
    /// The common budget.
    pub budget: TeamBudget,
}

/// Why agents cannot form a team.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamAssemblyRefused {
    #[error("a team needs at least one agent")]
    NoAgents,
    #[error("no agent `{0}` in this organization")]
    OtherOrg(String),
    #[error("{0} is not active")]
    NotActive(String),
}

impl TeamSession {
    /// Creates a team of the given agents, assigned by an operator or bound to a group
    /// chat. The first agent answers; duplicates are dropped. Fails if an agent belongs to
    /// another org or is not active.
    pub fn assemble(
        id: SessionId,
        org: OrgId,
        agents: &[&Agent],
        budget: Credits,
    ) -> Result<Self, TeamAssemblyRefused> {
        let [first, ..] = agents else { return Err(TeamAssemblyRefused::NoAgents) };
        let mut team = Self::start(id, org, first.id, budget);
        for agent in agents {
            if agent.org != org {
                return Err(TeamAssemblyRefused::OtherOrg(agent.slug.clone()));
            }
            if !agent.receives_messages() {
                return Err(TeamAssemblyRefused::NotActive(agent.display_name.clone()));
            }
            team.add(agent.id);
        }
        Ok(team)
    }

    /// Creates a team of one agent, which the first handoff enlarges.
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

    /// Returns all current and former participants, each once.
    pub fn participants(&self) -> &[AgentId] {
        &self.participants
    }

    /// Returns the agent that answers now.
    pub const fn active(&self) -> AgentId {
        self.active
    }

    /// Returns all handoffs, oldest first.
    pub fn history(&self) -> &[HandoffRecord] {
        &self.history
    }

    /// Makes the agent that the session began with the active one again.
    pub const fn return_to_primary(&mut self) {
        self.active = self.primary;
    }
}

/// Returns the agent that answers: the active agent of the team, or the session's own
/// agent if there is no team.
pub fn effective_agent(session_agent: AgentId, team: Option<&TeamSession>) -> AgentId {
    team.map_or(session_agent, TeamSession::active)
}

/// Returns the agents of a group chat by binding priority; the lowest number answers
/// first.
pub fn group_order<'a>(bound: &[(&'a Agent, u32)]) -> Vec<&'a Agent> {
    let mut bound = bound.to_vec();
    bound.sort_by_key(|(agent, priority)| (*priority, agent.created_at, agent.id));
    bound.into_iter().map(|(agent, _)| agent).collect()
}

/// The team fields of a session in the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// Returns the team fields of a session, with or without a team.
pub fn team_view<'a>(
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
