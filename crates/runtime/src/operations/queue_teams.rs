//! Teams of queue agents: creating and dissolving them, adding and removing members.

use std::collections::BTreeMap;

use ostler_bus::{QueueName, now};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamChange, TeamStatus};
use ostler_store::StoreError;
use serde::Serialize;
use serde_json::json;

use super::{
    NewQueueAgent, OperationError, OrgOperations, QueueAgentRefused, QueueAgentType, Result,
};
use crate::agents::{AgentRuntime, Placement, QueueError};

/// What an agent is in a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamRole {
    Member,
    Leader,
}

/// Messages that wait in a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueBacklog {
    pub queue: QueueName,
    pub waiting: u64,
}

impl OrgOperations<'_> {
    /// Creates a team of registered agents and agents of the org; the first one leads it.
    /// Unknown members are registered if their type is given.
    pub async fn create_team(
        &self,
        agents: &AgentRuntime,
        name: &TeamName,
        members: Vec<AgentName>,
        register: Option<QueueAgentType>,
    ) -> Result<Team> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let mut members = members.into_iter();
        let leader = members.next().ok_or(OperationError::Empty("a member"))?;
        let (team, _start) = Team::assemble(name.clone(), leader, members);
        let known = agents.teams().get(name).await?;
        if known.is_some_and(|team| team.status() != TeamStatus::Complete) {
            return Err(QueueError::TeamExists(name.clone()).into());
        }
        for member in team.members() {
            self.find_team_member(agents, member, register).await?;
        }
        let audit = self.audit_entry(
            "create_team",
            name,
            &json!({"members": team.members(),
            "leader": team.leader()}),
        );
        match store.audited(audit).create_team(team.clone()).await {
            Err(StoreError::Conflict(_)) => return Err(QueueError::TeamExists(name.clone()).into()),
            created => created?,
        }
        agents.connect_team(&team).await?;
        self.team(agents, name).await
    }

    /// Adds an agent to a team, or makes a member its leader.
    pub async fn add_to_team(
        &self,
        agents: &AgentRuntime,
        name: &TeamName,
        agent: &AgentName,
        role: TeamRole,
    ) -> Result<Team> {
        let team = self.team(agents, name).await?;
        self.find_team_member(agents, agent, None).await?;
        let is_member = team.members().contains(agent);
        if is_member && (role == TeamRole::Member || team.leader() == agent) {
            return Err(QueueAgentRefused::AlreadyMember(agent.clone()).into());
        }
        if !is_member {
            self.change_team("add_to_team", name, TeamChange::Join(agent.clone()), agent).await?;
            agents.connect_member(&team, agent).await?;
        }
        if role == TeamRole::Leader {
            self.change_team("lead_team", name, TeamChange::Lead(agent.clone()), agent).await?;
        }
        self.team(agents, name).await
    }

    /// Removes an agent from a team. It keeps running; a leader cannot be removed.
    pub async fn remove_from_team(
        &self,
        agents: &AgentRuntime,
        name: &TeamName,
        agent: &AgentName,
    ) -> Result<Team> {
        self.team(agents, name).await?;
        self.change_team("remove_from_team", name, TeamChange::Leave(agent.clone()), agent).await?;
        agents.disconnect_member(name, agent).await?;
        self.team(agents, name).await
    }

    /// Dissolves a team and stops its agents, except those in other teams and the org's own.
    /// Returns the team and what waits in the queues of its members.
    pub async fn dissolve_team(
        &self,
        agents: &AgentRuntime,
        name: &TeamName,
    ) -> Result<(Team, Vec<QueueBacklog>)> {
        let team = self.team(agents, name).await?;
        let leader = team.leader().clone();
        self.change_team("dissolve_team", name, TeamChange::Dissolve, &leader).await?;
        agents.stop_team(name).await?;
        let mut waiting = BTreeMap::new();
        for member in team.members() {
            let queue = agents.queue_of(member).await?;
            let depth = agents.bus().depth(&queue).await.map_err(QueueError::from)?;
            waiting.insert(queue, depth.total());
        }
        let waiting = waiting.into_iter().filter(|(_, waiting)| *waiting > 0);
        let waiting = waiting.map(|(queue, waiting)| QueueBacklog { queue, waiting }).collect();
        Ok((self.team(agents, name).await?, waiting))
    }

    async fn change_team(
        &self,
        action: &str,
        name: &TeamName,
        change: TeamChange,
        agent: &AgentName,
    ) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let audit = self.audit_entry(action, name, &json!({"agent": agent}));
        let changed = store.audited(audit).change_team(name.clone(), change).await;
        changed.map_err(QueueError::from)?;
        Ok(())
    }

    /// Finds an agent that joins a team. A stopped hosted one is started, an agent of the org
    /// is registered if it is not on the bus yet, and others if their type is given.
    async fn find_team_member(
        &self,
        agents: &AgentRuntime,
        agent: &AgentName,
        register: Option<QueueAgentType>,
    ) -> Result<()> {
        let mut agent_type = None;
        match agents.registered(agent).await {
            Ok(record) if record.placement == Placement::Pinned || record.is_available(now()) => {
                return Ok(());
            }
            Ok(_) => {}
            Err(unknown @ QueueError::UnknownAgent(_)) => {
                let view = self.view().await?;
                if view.agents.iter().all(|one| one.agent.slug != agent.as_str()) {
                    agent_type = Some(register.ok_or(unknown)?);
                }
            }
            Err(other) => return Err(other.into()),
        }
        let (name, capabilities) = (agent.clone(), Default::default());
        let new = NewQueueAgent { name, agent_type, capabilities };
        self.start_queue_agent(Some(agents), new).await.map(drop)
    }

    pub(super) async fn team(&self, agents: &AgentRuntime, name: &TeamName) -> Result<Team> {
        self.authorize(OrgPermission::View).await?;
        let team = agents.teams().get(name).await?;
        Ok(team.ok_or_else(|| QueueError::UnknownTeam(name.clone()))?)
    }
}
