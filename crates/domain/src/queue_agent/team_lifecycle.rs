//! Lifecycle of a team of queue agents: assembling, active, dissolving, complete.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::{AgentName, TeamName};

/// Status of a team.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TeamStatus {
    /// Its agents are being started.
    Assembling,
    Active,
    /// Its agents are being stopped.
    Dissolving,
    Complete,
}

impl TeamStatus {
    /// Returns the status in a word.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Assembling => "assembling",
            Self::Active => "active",
            Self::Dissolving => "dissolving",
            Self::Complete => "dissolved",
        }
    }
}

/// A team of queue agents. The leader is a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Team {
    pub name: TeamName,
    leader: AgentName,
    members: BTreeSet<AgentName>,
    /// The members that have been started.
    running: BTreeSet<AgentName>,
    status: TeamStatus,
}

/// A change of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamChange {
    Started(AgentName),
    Join(AgentName),
    Leave(AgentName),
    Lead(AgentName),
    Dissolve,
    /// A member of a dissolving team has stopped.
    Stopped(AgentName),
}

impl TeamChange {
    /// Applies the change to a team; a refused change leaves it as it is.
    pub fn apply(&self, team: &mut Team) -> Result<Option<TeamLifecycleEffect>, TeamChangeRefused> {
        match self {
            Self::Started(agent) => team.member_started(agent),
            Self::Join(agent) => team.join(agent.clone()),
            Self::Leave(agent) => team.leave(agent).map(Some),
            Self::Lead(agent) => team.appoint_leader(agent).map(|()| None),
            Self::Dissolve => team.dissolve().map(Some),
            Self::Stopped(agent) => team.member_stopped(agent),
        }
    }
}

/// What the runtime does after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamLifecycleEffect {
    Start(Vec<AgentName>),
    Stop(Vec<AgentName>),
    StatusChanged(TeamStatus),
}

/// Why a change of a team is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamChangeRefused {
    #[error("a team that is {} does not allow this change", .0.description())]
    Status(TeamStatus),
    #[error("`{0}` is not a member of this team")]
    NotAMember(AgentName),
    #[error("`{0}` leads this team; name another leader first")]
    IsLeader(AgentName),
}

impl Team {
    /// Creates a team whose agents are to be started. The leader becomes a member
    /// even if it is not listed.
    pub fn assemble(
        name: TeamName,
        leader: AgentName,
        members: impl IntoIterator<Item = AgentName>,
    ) -> (Self, TeamLifecycleEffect) {
        let members: BTreeSet<AgentName> = members.into_iter().chain([leader.clone()]).collect();
        let start = TeamLifecycleEffect::Start(members.iter().cloned().collect());
        let running = BTreeSet::new();
        (Self { name, leader, members, running, status: TeamStatus::Assembling }, start)
    }

    /// Returns the status.
    pub const fn status(&self) -> TeamStatus {
        self.status
    }

    /// Returns the leader.
    pub const fn leader(&self) -> &AgentName {
        &self.leader
    }

    /// Returns all members, including the leader.
    pub const fn members(&self) -> &BTreeSet<AgentName> {
        &self.members
    }

    /// Records that a member was started. With the last member the team becomes active.
    pub fn member_started(
        &mut self,
        agent: &AgentName,
    ) -> Result<Option<TeamLifecycleEffect>, TeamChangeRefused> {
        self.check_open()?;
        self.check_member(agent)?;
        self.running.insert(agent.clone());
        let whole = self.running == self.members;
        if !whole || self.status == TeamStatus::Active {
            return Ok(None);
        }
        Ok(Some(self.set_status(TeamStatus::Active)))
    }

    /// Adds an agent, which is to be started; returns `None` if it is a member already.
    pub fn join(
        &mut self,
        agent: AgentName,
    ) -> Result<Option<TeamLifecycleEffect>, TeamChangeRefused> {
        self.check_open()?;
        let start = TeamLifecycleEffect::Start(vec![agent.clone()]);
        Ok(self.members.insert(agent).then_some(start))
    }

    /// Removes a member; fails for the leader.
    pub fn leave(&mut self, agent: &AgentName) -> Result<TeamLifecycleEffect, TeamChangeRefused> {
        self.check_open()?;
        self.check_member(agent)?;
        if *agent == self.leader {
            return Err(TeamChangeRefused::IsLeader(agent.clone()));
        }
        self.members.remove(agent);
        self.running.remove(agent);
        Ok(TeamLifecycleEffect::Stop(vec![agent.clone()]))
    }

    /// Makes another member the leader.
    pub fn appoint_leader(&mut self, agent: &AgentName) -> Result<(), TeamChangeRefused> {
        self.check_open()?;
        self.check_member(agent)?;
        self.leader = agent.clone();
        Ok(())
    }

    /// Dissolves the team. All members are to be stopped, including those still being
    /// started.
    pub fn dissolve(&mut self) -> Result<TeamLifecycleEffect, TeamChangeRefused> {
        self.check_open()?;
        self.status = TeamStatus::Dissolving;
        self.running = self.members.clone();
        Ok(TeamLifecycleEffect::Stop(self.members.iter().cloned().collect()))
    }

    /// Records that a member of a dissolving team has stopped. With the last member the
    /// team becomes complete; it keeps its list of members.
    pub fn member_stopped(
        &mut self,
        agent: &AgentName,
    ) -> Result<Option<TeamLifecycleEffect>, TeamChangeRefused> {
        if self.status != TeamStatus::Dissolving {
            return Err(TeamChangeRefused::Status(self.status));
        }
        self.check_member(agent)?;
        self.running.remove(agent);
        let over = self.running.is_empty();
        Ok(over.then(|| self.set_status(TeamStatus::Complete)))
    }

    const fn set_status(&mut self, status: TeamStatus) -> TeamLifecycleEffect {
        self.status = status;
        TeamLifecycleEffect::StatusChanged(status)
    }

    const fn check_open(&self) -> Result<(), TeamChangeRefused> {
        match self.status {
            TeamStatus::Assembling | TeamStatus::Active => Ok(()),
            TeamStatus::Dissolving | TeamStatus::Complete => {
                Err(TeamChangeRefused::Status(self.status))
            }
        }
    }

    fn check_member(&self, agent: &AgentName) -> Result<(), TeamChangeRefused> {
        let known = self.members.contains(agent);
        if known { Ok(()) } else { Err(TeamChangeRefused::NotAMember(agent.clone())) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Team, TeamChangeRefused, TeamLifecycleEffect, TeamStatus};
    use crate::queue_agent::name::AgentName;

    fn name(text: &str) -> AgentName {
        text.parse().unwrap()
    }

    fn team() -> (Team, TeamLifecycleEffect) {
        Team::assemble("crew".parse().unwrap(), name("lead"), [name("a"), name("b")])
    }

    fn active() -> Team {
        let (mut team, _) = team();
        for member in ["a", "b", "lead"] {
            team.member_started(&name(member)).unwrap();
        }
        team
    }

    /// X41: assembling starts the agents, dissolving stops them, and each is
    /// the only way on.
    #[test]
    fn x41_a_team_is_assembled_works_and_is_dissolved() {
        let (mut team, start) = team();
        let everybody = vec![name("a"), name("b"), name("lead")];
        assert_eq!(start, TeamLifecycleEffect::Start(everybody.clone()));
        assert_eq!(team.member_started(&name("a")), Ok(None));
        assert_eq!(team.member_started(&name("b")), Ok(None));
        assert_eq!(team.status(), TeamStatus::Assembling);
        let became = |status| Ok(Some(TeamLifecycleEffect::StatusChanged(status)));
        assert_eq!(team.member_started(&name("lead")), became(TeamStatus::Active));
        assert_eq!(team.member_started(&name("lead")), Ok(None));
        assert_eq!(
            team.member_stopped(&name("a")),
            Err(TeamChangeRefused::Status(TeamStatus::Active))
        );
        assert_eq!(team.dissolve(), Ok(TeamLifecycleEffect::Stop(everybody)));
        let dissolving = TeamChangeRefused::Status(TeamStatus::Dissolving);
        assert_eq!(team.dissolve(), Err(dissolving.clone()));
        assert_eq!(team.join(name("late")), Err(dissolving.clone()));
        assert_eq!(team.member_started(&name("a")), Err(dissolving));
        assert_eq!(team.member_stopped(&name("a")), Ok(None));
        assert_eq!(team.member_stopped(&name("a")), Ok(None));
        assert_eq!(team.member_stopped(&name("lead")), Ok(None));
        assert_eq!(team.member_stopped(&name("b")), became(TeamStatus::Complete));
        assert_eq!(team.dissolve(), Err(TeamChangeRefused::Status(TeamStatus::Complete)));
        assert_eq!(team.members().len(), 3);
    }

    /// X41: a team can be dissolved before all members have started.
    #[test]
    fn x41_an_assembling_team_can_be_dissolved() {
        let (mut team, _) = team();
        team.member_started(&name("a")).unwrap();
        let everybody = vec![name("a"), name("b"), name("lead")];
        assert_eq!(team.dissolve(), Ok(TeamLifecycleEffect::Stop(everybody)));
    }

    #[test]
    fn members_join_and_leave_and_the_team_always_has_a_leader() {
        let mut team = active();
        let late = TeamLifecycleEffect::Start(vec![name("late")]);
        assert_eq!(team.join(name("late")), Ok(Some(late)));
        assert_eq!(team.join(name("late")), Ok(None));
        assert_eq!(team.member_started(&name("late")), Ok(None));
        assert_eq!(team.leave(&name("lead")), Err(TeamChangeRefused::IsLeader(name("lead"))));
        assert_eq!(team.appoint_leader(&name("x")), Err(TeamChangeRefused::NotAMember(name("x"))));
        team.appoint_leader(&name("late")).unwrap();
        assert_eq!(team.leave(&name("lead")), Ok(TeamLifecycleEffect::Stop(vec![name("lead")])));
        assert_eq!((team.leader(), team.members().len()), (&name("late"), 3));
        let stored = serde_json::to_string(&team).unwrap();
        assert_eq!(serde_json::from_str::<Team>(&stored).unwrap(), team);
    }
}
