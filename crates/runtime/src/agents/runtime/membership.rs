//! Teams of registered agents, in whatever process they run.
//!
//! A pinned member's own queue is subscribed to the broadcasts of the team. A hosted
//! member has no queue of its own; it gets its copy like any other message.

use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::Team;

use super::AgentRuntime;
use crate::agents::ai::AiAgent;
use crate::agents::coordination::{CoordinationMessage, JoinApproved};
use crate::agents::error::{QueueError, Result};
use crate::agents::registry::{AgentRecord, Placement};
use crate::agents::teams::TeamChange;

impl AgentRuntime {
    /// Creates a team of registered agents. When this returns, the team is active and its
    /// members receive broadcasts. If an agent cannot be a member, no team is created.
    pub async fn form_team(
        &self,
        name: TeamName,
        leader: AgentName,
        others: Vec<AgentName>,
    ) -> Result<()> {
        let runtime = self.clone();
        Self::run_to_completion(async move {
            let (team, _start) = Team::assemble(name, leader, others);
            for member in team.members() {
                runtime.registered(member).await?;
            }
            runtime.0.teams.assemble(team.clone()).await?;
            runtime.connect_team(&team).await
        })
        .await
    }

    /// Connects the members of a stored team and activates it. If that fails, the team is
    /// dissolved, and its agents keep running.
    pub(crate) async fn connect_team(&self, team: &Team) -> Result<()> {
        for member in team.members() {
            if let Err(error) = self.connect_member(team, member).await {
                self.abandon_team(team).await?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Connects a member of a stored team.
    pub(crate) async fn connect_member(&self, team: &Team, member: &AgentName) -> Result<()> {
        self.subscribe(&team.name, member).await?;
        self.report_started(&team.name, member).await?;
        let (agent, name) = (member.clone(), team.name.clone());
        let mut call =
            JoinApproved { agent, team: name }.envelope(self.new_reference_code().await?);
        call.context.from_agent = Some(team.leader().clone());
        self.send(member, call).await
    }

    /// Disconnects an agent that is no longer a member of a team. It keeps running.
    pub(crate) async fn disconnect_member(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        if self.registered(agent).await?.placement == Placement::Pinned {
            self.0.bus.leave_team(team, agent).await?;
        }
        if let Some(harness) = self.harness(agent) {
            harness.leave_team(team);
        }
        self.0.host.leave_team(agent, team);
        Ok(())
    }

    /// Dissolves a team that was never complete; its agents keep running.
    async fn abandon_team(&self, team: &Team) -> Result<()> {
        self.0.teams.change(&team.name, TeamChange::Dissolve).await?;
        for member in team.members() {
            self.0.bus.leave_team(&team.name, member).await?;
            self.report_stopped(&team.name, member).await?;
        }
        Ok(())
    }

    /// Adds an agent to a running team after its leader approved.
    pub(in crate::agents) async fn admit_member(
        &self,
        team: &TeamName,
        agent: &AgentName,
    ) -> Result<()> {
        self.registered(agent).await?;
        self.record_join(team, agent).await?;
        self.subscribe(team, agent).await?;
        self.report_started(team, agent).await
    }

    /// Subscribes a pinned agent's queue to the broadcasts of a team.
    async fn subscribe(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        match self.registered(agent).await?.placement {
            Placement::Pinned => Ok(self.0.bus.join_team(team, agent).await?),
            Placement::Hosted => Ok(()),
        }
    }

    /// Returns the hosted members of a team.
    pub(super) async fn hosted_members(&self, team: &TeamName) -> Result<Vec<AgentName>> {
        let Some(team) = self.0.teams.get(team).await? else { return Ok(Vec::new()) };
        let mut hosted = Vec::new();
        for member in team.members() {
            if self.is_hosted(member).await? {
                hosted.push(member.clone());
            }
        }
        Ok(hosted)
    }

    /// Stops a hosted agent whose team is dissolved, unless it is in another team. The
    /// org's AI agents are not the team's, and keep running.
    pub(super) async fn stop_hosted_member(&self, record: &AgentRecord) -> Result<()> {
        let is_needed = record.agent_type == AiAgent::TYPE
            || !self.current_teams_of(&record.name).await?.is_empty();
        if !is_needed {
            self.stop_hosted(&record.name).await?;
        }
        Ok(())
    }

    /// Returns the record of an agent, or fails if it is not registered.
    pub(crate) async fn registered(&self, agent: &AgentName) -> Result<AgentRecord> {
        let record = self.0.registry.get(agent).await?;
        record.ok_or_else(|| QueueError::UnknownAgent(agent.clone()))
    }
}
