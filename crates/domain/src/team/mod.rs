//! The team harness: several agents, or a human, in one session.
//!
//! Owns who is answering, how agents hand over, and what they share. Handing
//! over to a person is [`crate::human`].

pub mod config;
pub mod handoff;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, OrgId, SessionId, UserId};
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
    /// The person in charge, while there is one.
    pub human: Option<HumanInCharge>,
}

/// A person who has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HumanInCharge {
    /// Who.
    pub user: UserId,
    /// Since when.
    pub since: Timestamp,
}

impl TeamSession {
    /// A team of the given agents. The first of them answers; later mentions
    /// of the same agent are dropped.
    pub fn new(
        id: SessionId,
        org: OrgId,
        primary: AgentId,
        others: impl IntoIterator<Item = AgentId>,
        budget: TeamBudget,
    ) -> Self {
        let mut team = Self {
            id,
            org,
            primary,
            participants: vec![primary],
            active: primary,
            history: Vec::new(),
            shared: SharedContext::default(),
            budget,
            human: None,
        };
        for agent in others {
            team.add(agent);
        }
        team
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

/// Who answers: the active agent of a team, else the session's own.
pub fn effective_agent(session_agent: AgentId, team: Option<&TeamSession>) -> AgentId {
    team.map_or(session_agent, TeamSession::active)
}

#[cfg(test)]
mod tests {
    use super::{TeamSession, effective_agent};
    use crate::id::{AgentId, OrgId, SessionId};
    use crate::money::caps::TeamBudget;

    const GIA: AgentId = AgentId::from_u128(1);
    const ENZO: AgentId = AgentId::from_u128(2);

    fn team(others: &[AgentId]) -> TeamSession {
        let budget = TeamBudget::new(TeamBudget::DEFAULT_TOTAL, GIA);
        let (id, org) = (SessionId::from_u128(9), OrgId::from_u128(3));
        TeamSession::new(id, org, GIA, others.iter().copied(), budget)
    }

    /// G02, G05: participants are kept once each, the first is active.
    #[test]
    fn g05_participants_are_deduplicated_and_the_first_is_active() {
        let team = team(&[ENZO, GIA, ENZO]);
        assert_eq!(team.participants(), [GIA, ENZO]);
        assert_eq!(team.active(), GIA);
        assert_eq!((team.id, team.org), (SessionId::from_u128(9), OrgId::from_u128(3)));
    }

    /// G07, G08: the active agent of a team, else the session's own.
    #[test]
    fn g08_the_effective_agent_is_the_active_one() {
        assert_eq!(effective_agent(ENZO, None), ENZO);
        assert_eq!(effective_agent(ENZO, Some(&team(&[]))), GIA);
    }
}
