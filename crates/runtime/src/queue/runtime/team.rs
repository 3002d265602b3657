//! Teams coming and going: assembling one starts its agents, dissolving it
//! stops them.

use std::sync::Arc;

use futures_util::future::join_all;
use ostler_bus::now;
use ostler_domain::dispatch::life::{Team, TeamEffect, TeamRefused, TeamStatus};
use ostler_domain::dispatch::name::{AgentName, TeamName};
use tokio::runtime::Handle;

use super::AgentRuntime;
use super::start::{Boot, Made, make};
use super::stop::Parting;
use crate::queue::agent::{Agent, AnyAgent};
use crate::queue::coordination::{Coordination, ShutdownRequest};
use crate::queue::error::{QueueError, Result};
use crate::queue::harness::Harness;
use crate::queue::page::Page;
use crate::queue::registry::Placement;
use crate::queue::spec::Spec;
use crate::queue::teams::TeamChange;

/// A team as it is to be assembled.
pub struct TeamSpec {
    name: TeamName,
    leader: AgentName,
    members: Vec<Member>,
}

enum Member {
    New(Box<Spec>, Arc<dyn AnyAgent>),
    Recorded(AgentName),
}

impl Member {
    fn name(&self) -> &AgentName {
        match self {
            Self::New(spec, _) => &spec.name,
            Self::Recorded(name) => name,
        }
    }
}

impl TeamSpec {
    /// A team that this agent leads.
    pub fn led_by(name: TeamName, spec: Spec, agent: impl Agent) -> Self {
        let leader = spec.name.clone();
        Self { name, leader, members: Vec::new() }.member(spec, agent)
    }

    /// A team that the agent of this record leads.
    pub fn led_by_recorded(name: TeamName, leader: AgentName) -> Self {
        let members = vec![Member::Recorded(leader.clone())];
        Self { name, leader, members }
    }

    /// Adds a member.
    #[must_use]
    pub fn member(mut self, spec: Spec, agent: impl Agent) -> Self {
        self.members.push(Member::New(Box::new(spec), Arc::new(agent)));
        self
    }

    /// Adds the agent of a record.
    #[must_use]
    pub fn recorded(mut self, name: AgentName) -> Self {
        self.members.push(Member::Recorded(name));
        self
    }
}

impl AgentRuntime {
    /// Assembles a team: all its agents are started, and it is active. If one
    /// cannot be started, or this is cancelled, the team is dissolved.
    pub async fn assemble(&self, team: TeamSpec) -> Result<TeamName> {
        let runtime = self.clone();
        make(async move {
            let name = runtime.assemble_whole(team).await?;
            let undone = name.clone();
            Ok(Made::new(name, move || runtime.dissolve_later(undone)))
        })
        .await
    }

    async fn assemble_whole(&self, spec: TeamSpec) -> Result<TeamName> {
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

    async fn start_member(&self, team: &TeamName, member: Member) -> Result<()> {
        let team = Some(team.clone());
        let boot = match member {
            Member::New(spec, agent) => Boot { spec: *spec, agent, team },
            Member::Recorded(name) => self.recorded(&name, team).await?,
        };
        self.boot(boot).await.map(drop)
    }

    fn dissolve_later(self, team: TeamName) {
        let Ok(reactor) = Handle::try_current() else { return };
        reactor.spawn(async move {
            if let Err(error) = self.stop_team(&team).await {
                tracing::warn!(%team, %error, "a team that nobody waited for was not dissolved");
            }
        });
    }

    /// Dissolves a team: its agents are stopped, those of other processes are
    /// asked to. Returns who stopped here; nobody, if there is no such team.
    pub async fn stop_team(&self, team: &TeamName) -> Result<Vec<AgentName>> {
        let (runtime, team) = (self.clone(), team.clone());
        Self::to_its_end(async move { runtime.dissolve(&team).await }).await
    }

    async fn dissolve(&self, name: &TeamName) -> Result<Vec<AgentName>> {
        let dissolving = self.0.teams.change(name, TeamChange::Dissolve).await;
        match dissolving {
            Ok(_) | Err(QueueError::Team(TeamRefused::Status(TeamStatus::Dissolving))) => {}
            Err(
                QueueError::UnknownTeam(_)
                | QueueError::Team(TeamRefused::Status(TeamStatus::Complete)),
            ) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        let Some(team) = self.0.teams.get(name).await? else { return Ok(Vec::new()) };
        let parting = team.members().iter().map(|member| self.dismiss(&team, member));
        let mut stopped = Vec::new();
        for (member, parted) in team.members().iter().zip(join_all(parting).await) {
            if parted? {
                stopped.push(member.clone());
            }
        }
        Ok(stopped)
    }

    /// Stops a member of a team that is dissolving; true if it ran here.
    async fn dismiss(&self, team: &Team, member: &AgentName) -> Result<bool> {
        if let Some(harness) = self.harness(member) {
            self.retire(&harness, Parting::Stopped).await?;
            self.report_stopped(&team.name, member).await?;
            return Ok(true);
        }
        self.0.bus.leave(&team.name, member).await?;
        let record = self.0.registry.get(member).await?;
        if record.is_some_and(|record| record.is_available(now())) {
            let request = ShutdownRequest { reason: format!("team {} is dissolved", team.name) };
            let mut request = request.envelope(self.new_code().await?);
            request.context.from_agent = Some(team.leader().clone());
            request.context.team = Some(team.name.clone());
            self.send(member, request).await?;
        } else {
            self.report_stopped(&team.name, member).await?;
        }
        Ok(false)
    }

    /// Makes an agent a member, or the leader of a team that begins with it.
    pub(super) async fn enrol(&self, name: &TeamName, harness: &Arc<Harness>) -> Result<()> {
        let agent = &harness.spec.name;
        let known = self.0.teams.get(name).await?;
        match known.filter(|team| team.status() != TeamStatus::Complete) {
            Some(team) if team.members().contains(agent) => {}
            Some(_) => self.join_record(name, agent).await?,
            None => {
                let (team, _start) = Team::assemble(name.clone(), agent.clone(), []);
                match self.0.teams.assemble(team).await {
                    Err(QueueError::TeamExists(_)) => self.join_record(name, agent).await?,
                    assembled => assembled?,
                }
            }
        }
        harness.enter_team(name.clone());
        Ok(self.0.bus.join(name, agent).await?)
    }

    /// The teams that an agent is in and that are neither over nor about to be.
    pub(super) async fn open_teams_of(&self, agent: &AgentName) -> Result<Vec<TeamName>> {
        let (mut open, mut page) = (Vec::new(), Page::default());
        loop {
            let teams = self.0.teams.of_member(agent, page.clone()).await?;
            let Some(last) = teams.last() else { return Ok(open) };
            page.after = Some(last.name.clone());
            let lives =
                |team: &&Team| matches!(team.status(), TeamStatus::Assembling | TeamStatus::Active);
            open.extend(teams.iter().filter(lives).map(|team| team.name.clone()));
        }
    }

    async fn join_record(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        self.0.teams.change(team, TeamChange::Join(agent.clone())).await.map(drop)
    }

    pub(super) async fn report_started(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        self.0.teams.change(team, TeamChange::Started(agent.clone())).await.map(drop)
    }

    /// Takes an agent into a team that runs: its leader approved.
    pub(in crate::queue) async fn admit(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        let record = self.0.registry.get(agent).await?;
        let record = record.ok_or_else(|| QueueError::UnknownAgent(agent.clone()))?;
        if record.placement == Placement::Hosted {
            return Err(QueueError::Placement(agent.clone()));
        }
        self.join_record(team, agent).await?;
        self.0.bus.join(team, agent).await?;
        self.report_started(team, agent).await
    }

    /// Takes an agent out of its teams. What goes wrong is told, and does not
    /// keep the agent from stopping.
    pub(super) async fn leave_teams(&self, harness: &Harness) {
        for team in harness.teams() {
            if let Err(error) = self.leave_team(&team, &harness.spec.name).await {
                let agent = &harness.spec.name;
                tracing::warn!(%agent, %team, %error, "an agent did not leave its team");
            }
            harness.leave_team(&team);
        }
    }

    async fn leave_team(&self, name: &TeamName, agent: &AgentName) -> Result<()> {
        self.0.bus.leave(name, agent).await?;
        let Some(team) = self.0.teams.get(name).await? else { return Ok(()) };
        let leads = team.leader() == agent;
        let left = match team.status() {
            TeamStatus::Dissolving | TeamStatus::Complete => Ok(None),
            // With its last member a team is over.
            _ if leads && team.members().len() == 1 => {
                self.0.teams.change(name, TeamChange::Dissolve).await
            }
            // A leader stays in the record until another leads.
            _ if leads => return Ok(()),
            _ => self.0.teams.change(name, TeamChange::Leave(agent.clone())).await,
        };
        match left {
            Ok(effect) => self.stop_others(agent, effect),
            // Somebody dissolved it meanwhile.
            Err(QueueError::Team(TeamRefused::Status(_))) => {}
            Err(error) => return Err(error),
        }
        self.report_stopped(name, agent).await
    }

    /// Whoever came into a team just when its last member left goes too.
    fn stop_others(&self, agent: &AgentName, effect: Option<TeamEffect>) {
        let Some(TeamEffect::Stop(all)) = effect else { return };
        for other in all.iter().filter(|other| *other != agent) {
            if let Some(harness) = self.harness(other) {
                self.stop_later(&harness);
            }
        }
    }

    /// A member has stopped; this matters only while its team is dissolving.
    async fn report_stopped(&self, team: &TeamName, agent: &AgentName) -> Result<()> {
        match self.0.teams.change(team, TeamChange::Stopped(agent.clone())).await {
            Ok(_) | Err(QueueError::Team(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Who leads a team that is not over.
    pub async fn leader(&self, team: &TeamName) -> Result<Option<AgentName>> {
        let team = self.0.teams.get(team).await?;
        let lives = team.filter(|team| team.status() != TeamStatus::Complete);
        Ok(lives.map(|team| team.leader().clone()))
    }

    pub(in crate::queue) async fn is_member(
        &self,
        team: &TeamName,
        agent: &AgentName,
    ) -> Result<bool> {
        let team = self.0.teams.get(team).await?;
        Ok(team.is_some_and(|team| team.members().contains(agent)))
    }
}
