//! The life of a team on the bus: it is assembled, works, and is dissolved.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::name::{AgentName, TeamName};

/// Where a team stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamStatus {
    /// Its agents are being started.
    Assembling,
    /// It works.
    Active,
    /// Its agents are being stopped.
    Dissolving,
    /// It is over.
    Complete,
}

/// A team: a leader, who is a member, and the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Team {
    /// Its name.
    pub name: TeamName,
    leader: AgentName,
    members: BTreeSet<AgentName>,
    /// Those that have been started.
    running: BTreeSet<AgentName>,
    status: TeamStatus,
}

/// What happens to a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamChange {
    /// A member was started.
    Started(AgentName),
    /// An agent joins.
    Join(AgentName),
    /// A member leaves.
    Leave(AgentName),
    /// Another member leads.
    Lead(AgentName),
    /// The team is dissolved.
    Dissolve,
    /// A member of a team that is dissolving has stopped.
    Stopped(AgentName),
}

impl TeamChange {
    /// Lets it happen to a team; a refusal changes nothing.
    pub fn apply(&self, team: &mut Team) -> Result<Option<TeamEffect>, TeamRefused> {
        match self {
            Self::Started(agent) => team.started(agent),
            Self::Join(agent) => team.join(agent.clone()),
            Self::Leave(agent) => team.leave(agent).map(Some),
            Self::Lead(agent) => team.lead(agent).map(|()| None),
            Self::Dissolve => team.dissolve().map(Some),
            Self::Stopped(agent) => team.stopped(agent),
        }
    }
}

/// What the runtime does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamEffect {
    /// Start these agents.
    Start(Vec<AgentName>),
    /// Stop these agents.
    Stop(Vec<AgentName>),
    /// The team changed its status.
    Became(TeamStatus),
}

/// Why something is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamRefused {
    /// Not in this status.
    #[error("a team that is {0:?} does not do that")]
    Status(TeamStatus),
    /// The agent is no member.
    #[error("`{0}` is not a member of this team")]
    NotAMember(AgentName),
    /// The leader stays until somebody else leads.
    #[error("`{0}` leads this team; name another leader first")]
    Leads(AgentName),
}

impl Team {
    /// Assembles a team; its agents are to be started. The leader is a member
    /// whether listed or not.
    pub fn assemble(
        name: TeamName,
        leader: AgentName,
        members: impl IntoIterator<Item = AgentName>,
    ) -> (Self, TeamEffect) {
        let members: BTreeSet<AgentName> = members.into_iter().chain([leader.clone()]).collect();
        let start = TeamEffect::Start(members.iter().cloned().collect());
        let running = BTreeSet::new();
        (Self { name, leader, members, running, status: TeamStatus::Assembling }, start)
    }

    /// Where it stands.
    pub const fn status(&self) -> TeamStatus {
        self.status
    }

    /// Who leads it.
    pub const fn leader(&self) -> &AgentName {
        &self.leader
    }

    /// Everybody in it, the leader too.
    pub const fn members(&self) -> &BTreeSet<AgentName> {
        &self.members
    }

    /// A member was started. With the last of them the team is active.
    pub fn started(&mut self, agent: &AgentName) -> Result<Option<TeamEffect>, TeamRefused> {
        self.check_open()?;
        self.check_member(agent)?;
        self.running.insert(agent.clone());
        let whole = self.running == self.members;
        if !whole || self.status == TeamStatus::Active {
            return Ok(None);
        }
        Ok(Some(self.become_(TeamStatus::Active)))
    }

    /// An agent joins, and is to be started.
    pub fn join(&mut self, agent: AgentName) -> Result<Option<TeamEffect>, TeamRefused> {
        self.check_open()?;
        let start = TeamEffect::Start(vec![agent.clone()]);
        Ok(self.members.insert(agent).then_some(start))
    }

    /// A member leaves; the leader does not before another leads.
    pub fn leave(&mut self, agent: &AgentName) -> Result<TeamEffect, TeamRefused> {
        self.check_open()?;
        self.check_member(agent)?;
        if *agent == self.leader {
            return Err(TeamRefused::Leads(agent.clone()));
        }
        self.members.remove(agent);
        self.running.remove(agent);
        Ok(TeamEffect::Stop(vec![agent.clone()]))
    }

    /// Another member leads.
    pub fn lead(&mut self, agent: &AgentName) -> Result<(), TeamRefused> {
        self.check_open()?;
        self.check_member(agent)?;
        self.leader = agent.clone();
        Ok(())
    }

    /// Dissolves the team; its agents are to be stopped, those too that are
    /// still being started.
    pub fn dissolve(&mut self) -> Result<TeamEffect, TeamRefused> {
        self.check_open()?;
        self.status = TeamStatus::Dissolving;
        self.running = self.members.clone();
        Ok(TeamEffect::Stop(self.members.iter().cloned().collect()))
    }

    /// A member of a team that is dissolving has stopped. With the last of them
    /// the team is complete; who was in it stays known.
    pub fn stopped(&mut self, agent: &AgentName) -> Result<Option<TeamEffect>, TeamRefused> {
        if self.status != TeamStatus::Dissolving {
            return Err(TeamRefused::Status(self.status));
        }
        self.check_member(agent)?;
        self.running.remove(agent);
        let over = self.running.is_empty();
        Ok(over.then(|| self.become_(TeamStatus::Complete)))
    }

    const fn become_(&mut self, status: TeamStatus) -> TeamEffect {
        self.status = status;
        TeamEffect::Became(status)
    }

    const fn check_open(&self) -> Result<(), TeamRefused> {
        match self.status {
            TeamStatus::Assembling | TeamStatus::Active => Ok(()),
            TeamStatus::Dissolving | TeamStatus::Complete => Err(TeamRefused::Status(self.status)),
        }
    }

    fn check_member(&self, agent: &AgentName) -> Result<(), TeamRefused> {
        let known = self.members.contains(agent);
        if known { Ok(()) } else { Err(TeamRefused::NotAMember(agent.clone())) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Team, TeamEffect, TeamRefused, TeamStatus};
    use crate::dispatch::name::AgentName;

    fn name(text: &str) -> AgentName {
        text.parse().unwrap()
    }

    fn team() -> (Team, TeamEffect) {
        Team::assemble("crew".parse().unwrap(), name("lead"), [name("a"), name("b")])
    }

    fn active() -> Team {
        let (mut team, _) = team();
        for member in ["a", "b", "lead"] {
            team.started(&name(member)).unwrap();
        }
        team
    }

    /// X41: assembling starts the agents, dissolving stops them, and each is
    /// the only way on.
    #[test]
    fn x41_a_team_is_assembled_works_and_is_dissolved() {
        let (mut team, start) = team();
        let everybody = vec![name("a"), name("b"), name("lead")];
        assert_eq!(start, TeamEffect::Start(everybody.clone()));
        assert_eq!(team.started(&name("a")), Ok(None));
        assert_eq!(team.started(&name("b")), Ok(None));
        assert_eq!(team.status(), TeamStatus::Assembling);
        let became = |status| Ok(Some(TeamEffect::Became(status)));
        assert_eq!(team.started(&name("lead")), became(TeamStatus::Active));
        assert_eq!(team.started(&name("lead")), Ok(None));
        assert_eq!(team.stopped(&name("a")), Err(TeamRefused::Status(TeamStatus::Active)));
        assert_eq!(team.dissolve(), Ok(TeamEffect::Stop(everybody)));
        let dissolving = TeamRefused::Status(TeamStatus::Dissolving);
        assert_eq!(team.dissolve(), Err(dissolving.clone()));
        assert_eq!(team.join(name("late")), Err(dissolving.clone()));
        assert_eq!(team.started(&name("a")), Err(dissolving));
        assert_eq!(team.stopped(&name("a")), Ok(None));
        assert_eq!(team.stopped(&name("a")), Ok(None));
        assert_eq!(team.stopped(&name("lead")), Ok(None));
        assert_eq!(team.stopped(&name("b")), became(TeamStatus::Complete));
        assert_eq!(team.dissolve(), Err(TeamRefused::Status(TeamStatus::Complete)));
        assert_eq!(team.members().len(), 3);
    }

    /// X41: a team that never got together can be dissolved.
    #[test]
    fn x41_an_assembling_team_can_be_dissolved() {
        let (mut team, _) = team();
        team.started(&name("a")).unwrap();
        let everybody = vec![name("a"), name("b"), name("lead")];
        assert_eq!(team.dissolve(), Ok(TeamEffect::Stop(everybody)));
    }

    #[test]
    fn members_come_and_go_and_somebody_always_leads() {
        let mut team = active();
        let late = TeamEffect::Start(vec![name("late")]);
        assert_eq!(team.join(name("late")), Ok(Some(late)));
        assert_eq!(team.join(name("late")), Ok(None));
        assert_eq!(team.started(&name("late")), Ok(None));
        assert_eq!(team.leave(&name("lead")), Err(TeamRefused::Leads(name("lead"))));
        assert_eq!(team.lead(&name("x")), Err(TeamRefused::NotAMember(name("x"))));
        team.lead(&name("late")).unwrap();
        assert_eq!(team.leave(&name("lead")), Ok(TeamEffect::Stop(vec![name("lead")])));
        assert_eq!((team.leader(), team.members().len()), (&name("late"), 3));
        let stored = serde_json::to_string(&team).unwrap();
        assert_eq!(serde_json::from_str::<Team>(&stored).unwrap(), team);
    }
}
