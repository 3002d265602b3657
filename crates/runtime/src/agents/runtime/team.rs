//! Teams: assembling a team starts its agents, dissolving it stops them.
//!
//! Teams are records with a life cycle; the first agent of a new team leads it.
//! Membership requests, plans and idle notices go to the leader, and what the
//! leader's agent approves is done by its harness.

use std::sync::Arc;

use futures_util::future::join_all;
use ostler_bus::now;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{
    Team, TeamChangeRefused, TeamLifecycleEffect, TeamStatus,
};
use tokio::runtime::Handle;

use super::AgentRuntime;
use super::start::{StartRequest, Undoable, run_undoable};
use super::stop::StopReason;
use crate::agents::agent::{DynAgent, QueueAgent};
use crate::agents::coordination::{CoordinationMessage, ShutdownRequest};
use crate::agents::error::{QueueError, Result};
use crate::agents::harness::QueueAgentHarness;
use crate::agents::page::Page;
use crate::agents::registry::Placement;
use crate::agents::spec::AgentSpec;
use crate::agents::teams::TeamChange;

/// A team to assemble.
pub struct TeamSpec {
    name: TeamName,
    leader: AgentName,
    members: Vec<MemberSpec>,
}

enum MemberSpec {
    New(Box<AgentSpec>, Arc<dyn DynAgent>),
    Registered(AgentName),
}

impl MemberSpec {
    fn name(&self) -> &AgentName {
        match self {
            Self::New(spec, _) => &spec.name,
            Self::Registered(name) => name,
        }
    }
}

impl TeamSpec {
    /// Creates a team led by this agent.
    pub fn led_by(name: TeamName, spec: AgentSpec, agent: impl QueueAgent) -> Self {
        let leader = spec.name.clone();
        Self { name, leader, members: Vec::new() }.member(spec, agent)
    }

    /// Creates a team led by a registered agent.
    pub fn led_by_registered(name: TeamName, leader: AgentName) -> Self {
        let members = vec![MemberSpec::Registered(leader.clone())];
        Self { name, leader, members }
    }

    /// Adds a member.
    #[must_use]
    pub fn member(mut self, spec: AgentSpec, agent: impl QueueAgent) -> Self {
        self.members.push(MemberSpec::New(Box::new(spec), Arc::new(agent)));
        self
    }

    /// Adds a registered agent.
    #[must_use]
    pub fn registered_member(mut self, name: AgentName) -> Self {
        self.members.push(MemberSpec::Registered(name));
        self
    }
}

impl AgentRuntime {
    /// Assembles a team: starts all its agents and activates it. If one fails
    /// to start, or the call is cancelled, the team is dissolved.
    pub async fn assemble_team(&self, team: TeamSpec) -> Result<TeamName> {
        let runtime = self.clone();
        run_undoable(async move {
            let name = runtime.assemble_or_fail(team).await?;
            let undone = name.clone();
            Ok(Undoable::new(name, move || runtime.dissolve_later(undone)))
        })
        .await
    }

    async fn assemble_or_fail(&self, spec: TeamSpec) -> Result<TeamName> {
        let members = spec.members.iter().map(|member| member.name().clone());
        let (team, _start) = Team::assemble(spec.name.clone(), spec.leader, members);
        self.0.teams.assemble(team).await?;
        for member in spec.members {
            if let Err(error) = self.start_member(&spec.name, member).await {
                self.stop_team(&spec.name).await?;
                return Err(error);
            }
        }
        Ok(spec.name)
    }

    async fn start_member(&self, team: &TeamName, member: MemberSpec) -> Result<()> {
        let team = Some(team.clone());
        let request = match member {
            MemberSpec::New(spec, agent) => StartRequest { spec: *spec, agent, team },
            MemberSpec::Registered(name) => self.load_registered(&name, team).await?,
        };
        self.start_agent(request).await.map(drop)
    }

    fn dissolve_later(self, team: TeamName) {
        let Ok(reactor) = Handle::try_current() else { return };
        reactor.spawn(async move {
            if let Err(error) = self.stop_team(&team).await {
                tracing::warn!(%team, %error, "team of a cancelled start not dissolved");
            }
        });
    }

    /// Dissolves a team: stops its agents, and asks those in other processes to
    /// stop. Returns the agents stopped in this process; none if there is no
    /// such team.
    pub async fn stop_team(&self, team: &TeamName) -> Result<Vec<AgentName>> {
        let (runtime, team) = (self.clone(), team.clone());
        Self::run_to_completion(async move { runtime.dissolve(&team).await }).await
    }

    async fn dissolve(&self, name: &TeamName) -> Result<Vec<AgentName>> {
        let dissolving = self.0.teams.change(name, TeamChange::Dissolve).await;
        match dissolving {
            Ok(_) | Err(QueueError::Team(TeamChangeRefused::Status(TeamStatus::Dissolving))) => {}
            Err(
                QueueError::UnknownTeam(_)
                | QueueError::Team(TeamChangeRefused::Status(TeamStatus::Complete)),
            ) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        let Some(team) = self.0.teams.get(name).await? else { return Ok(Vec::new()) };
        let stopping = team.members().iter().map(|member| self.stop_member(&team, member));
        let mut stopped = Vec::new();
        for (member, was_running) in team.members().iter().zip(join_all(stopping).await) {
            if was_running? {
                stopped.push(member.clone());
            }
        }
        Ok(stopped)
    }

    /// Stops a member of a dissolving team. Returns whether it ran in this
    /// process.
    async fn stop_member(&self, team: &Team, member: &AgentName) -> Result<bool> {
        if let Some(harness) = self.harness(member) {
            self.stop_agent(&harness, StopReason::Stopped).await?;
            self.report_stopped(&team.name, member).await?;
            return Ok(true);
        }
        let record = self.0.registry.get(member).await?;
        if let Some(record) = record.as_ref().filter(|one| one.placement == Placement::Hosted) {
            self.stop_hosted_member(record).await?;
            self.report_stopped(&team.name, member).await?;
            return Ok(false);
        }
        self.0.bus.leave_team(&team.name, member).await?;
        if record.is_some_and(|record| record.is_available(now())) {
            let request = ShutdownRequest { reason: format!("team {} was dissolved", team.name) };
            let mut request = request.envelope(self.new_reference_code().await?);
            request.context.from_agent = Some(team.leader().clone());
            request.context.team = Some(team.name.clone());
            self.send(member, request).await?;
        } else {
            self.report_stopped(&team.name, member).await?;
        }
        Ok(false)
    }

    /// Makes an agent a member of a team, or the leader of a new one.
    pub(super) async fn join_or_create_team(
        &self,
        name: &TeamName,
        harness: &Arc<QueueAgentHarness>,
    ) -> Result<()> {
        let agent = &harness.spec.name;
        let known = self.0.teams.get(name).await?;
        match known.filter(|team| team.status() != TeamStatus::Complete) {
            Some(team) if team.members().contains(agent) => {}
            Some(_) => self.record_join(name, agent).await?,
            None => {
                let (team, _start) = Team::assemble(name.clone(), agent.clone(), []);
                match self.0.teams.assemble(team).await {
                    Err(QueueError::TeamExists(_)) => self.record_join(name, agent).await?,
                    assembled => assembled?,
                }
            }
        }
        harness.enter_team(name.clone());
        Ok(self.0.bus.join_team(name, agent).await?)
    }

    /// Returns the teams of an agent that are assembling or active.
    pub(crate) async fn current_teams_of(&self, agent: &AgentName) -> Result<Vec<TeamName>> {
        let (mut open, mut page) = (Vec::new(), Page::default());
        loop {
            let teams = self.0.teams.of_member(agent, page.clone()).await?;
            let Some(last) = teams.last() else { return Ok(open) };
            page.after = Some(last.name.clone());
            let is_active =
                |team: &&Team| matches!(team.status(), TeamStatus::Assembling | TeamStatus::Active);
            open.extend(teams.iter().filter(is_active).map(|team| team.name.clone()));
        }
    }

    pub(super) async fn record_join(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        self.0.teams.change(team, TeamChange::Join(agent.clone())).await.map(drop)
    }

    pub(super) async fn report_started(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        self.0.teams.change(team, TeamChange::Started(agent.clone())).await.map(drop)
    }

    /// Removes an agent from its teams. Errors are logged and do not prevent
    /// the agent from stopping.
    pub(super) async fn leave_teams(&self, harness: &QueueAgentHarness) {
        for team in harness.teams() {
            if let Err(error) = self.leave_team(&team, &harness.spec.name).await {
                let agent = &harness.spec.name;
                tracing::warn!(%agent, %team, %error, "agent could not leave its team");
            }
            harness.leave_team(&team);
        }
    }

    async fn leave_team(&self, name: &TeamName, agent: &AgentName) -> Result<()> {
        self.0.bus.leave_team(name, agent).await?;
        let Some(team) = self.0.teams.get(name).await? else { return Ok(()) };
        let leads = team.leader() == agent;
        let left = match team.status() {
            TeamStatus::Dissolving | TeamStatus::Complete => Ok(None),
            // Without its last member a team is complete.
            _ if leads && team.members().len() == 1 => {
                self.0.teams.change(name, TeamChange::Dissolve).await
            }
            // A leader stays in the record until another agent leads.
            _ if leads => return Ok(()),
            _ => self.0.teams.change(name, TeamChange::Leave(agent.clone())).await,
        };
        match left {
            Ok(effect) => self.stop_others(agent, effect),
            // It was dissolved meanwhile.
            Err(QueueError::Team(TeamChangeRefused::Status(_))) => {}
            Err(error) => return Err(error),
        }
        self.report_stopped(name, agent).await
    }

    /// Stops agents that joined just when the last member left.
    fn stop_others(&self, agent: &AgentName, effect: Option<TeamLifecycleEffect>) {
        let Some(TeamLifecycleEffect::Stop(all)) = effect else { return };
        for other in all.iter().filter(|other| *other != agent) {
            if let Some(harness) = self.harness(other) {
                self.stop_later(&harness);
            }
        }
    }

    /// Records that a member stopped; this matters only while its team is
    /// dissolving.
    pub(super) async fn report_stopped(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        match self.0.teams.change(team, TeamChange::Stopped(agent.clone())).await {
            Ok(_) | Err(QueueError::Team(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the leader of a team that is not complete.
    pub async fn team_leader(&self, team: &TeamName) -> Result<Option<AgentName>> {
        let team = self.0.teams.get(team).await?;
        let is_active = team.filter(|team| team.status() != TeamStatus::Complete);
        Ok(is_active.map(|team| team.leader().clone()))
    }

    pub(in crate::agents) async fn is_member(
        &self,
        team: &TeamName,
        agent: &AgentName,
    ) -> Result<bool> {
        let team = self.0.teams.get(team).await?;
        Ok(team.is_some_and(|team| team.members().contains(agent)))
    }
}
