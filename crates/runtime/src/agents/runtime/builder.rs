//! Builds a runtime. Records are in memory unless set otherwise.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use ostler_bus::MessageBus;
use ostler_domain::queue_agent::name::TeamName;
use tokio::sync::Notify;

use super::host::{Host, HostingOptions};
use super::routing::RouteCache;
use super::start::StartRequest;
use super::team::TeamSpec;
use super::{AgentRuntime, Inner, RuntimeOptions, supervise};
use crate::agents::agent::QueueAgent;
use crate::agents::codes::{CodeSource, Codes, MemoryCodes};
use crate::agents::delegations::{Delegations, MemoryDelegations};
use crate::agents::error::Result;
use crate::agents::factory::Factories;
use crate::agents::plans::{MemoryPlans, Plans};
use crate::agents::registry::{AgentRecord, MemoryRegistry, Registry};
use crate::agents::spec::AgentSpec;
use crate::agents::teams::{MemoryTeams, Teams};
use crate::agents::worklist::{MemoryWorkList, WorkList};

/// Builds an [`AgentRuntime`].
#[must_use = "nothing runs before it is started"]
pub struct AgentRuntimeBuilder {
    bus: Arc<dyn MessageBus>,
    registry: Arc<dyn Registry>,
    delegations: Arc<dyn Delegations>,
    teams: Arc<dyn Teams>,
    plans: Arc<dyn Plans>,
    worklist: Arc<dyn WorkList>,
    codes: Box<dyn CodeSource>,
    options: RuntimeOptions,
    factories: Factories,
    hosting: Option<HostingOptions>,
    agents: Vec<StartRequest>,
    teams_to_assemble: Vec<TeamSpec>,
}

impl AgentRuntime {
    /// Returns a builder for a runtime on this bus.
    pub fn builder(bus: Arc<dyn MessageBus>) -> AgentRuntimeBuilder {
        AgentRuntimeBuilder {
            bus,
            registry: Arc::new(MemoryRegistry::default()),
            delegations: Arc::new(MemoryDelegations::default()),
            teams: Arc::new(MemoryTeams::default()),
            plans: Arc::new(MemoryPlans::default()),
            worklist: Arc::new(MemoryWorkList::default()),
            codes: Box::new(MemoryCodes::default()),
            options: RuntimeOptions::default(),
            factories: Factories::default(),
            hosting: None,
            agents: Vec::new(),
            teams_to_assemble: Vec::new(),
        }
    }
}

impl AgentRuntimeBuilder {
    /// Sets where agent records are stored.
    pub fn registry(mut self, registry: Arc<dyn Registry>) -> Self {
        self.registry = registry;
        self
    }

    /// Sets where delegations are stored.
    pub fn delegations(mut self, delegations: Arc<dyn Delegations>) -> Self {
        self.delegations = delegations;
        self
    }

    /// Sets where teams are stored.
    pub fn teams(mut self, teams: Arc<dyn Teams>) -> Self {
        self.teams = teams;
        self
    }

    /// Sets where plans are stored while they wait for approval.
    pub fn plans(mut self, plans: Arc<dyn Plans>) -> Self {
        self.plans = plans;
        self
    }

    /// Sets where the work lists of humans are stored.
    pub fn worklist(mut self, worklist: Arc<dyn WorkList>) -> Self {
        self.worklist = worklist;
        self
    }

    /// Sets the source of reference codes.
    pub fn codes(mut self, codes: impl CodeSource) -> Self {
        self.codes = Box::new(codes);
        self
    }

    /// Sets the options.
    pub fn options(mut self, options: RuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// Adds a factory that creates agents of a type from their records.
    pub fn factory<A: QueueAgent>(
        mut self,
        agent_type: impl Into<String>,
        make: impl Fn(&AgentRecord) -> Result<A, String> + Send + Sync + 'static,
    ) -> Self {
        self.factories.add(agent_type, make);
        self
    }

    /// Makes this process host agents.
    pub fn hosting(mut self, hosting: HostingOptions) -> Self {
        self.hosting = Some(hosting);
        self
    }

    /// Adds an agent that starts with the runtime.
    pub fn agent(mut self, spec: AgentSpec, agent: impl QueueAgent) -> Self {
        self.agents.push(StartRequest { spec, agent: Arc::new(agent), team: None });
        self
    }

    /// Adds an agent that starts with the runtime, in a team.
    pub fn agent_in_team(
        mut self,
        team: TeamName,
        spec: AgentSpec,
        agent: impl QueueAgent,
    ) -> Self {
        self.agents.push(StartRequest { spec, agent: Arc::new(agent), team: Some(team) });
        self
    }

    /// Adds a team that is assembled with the runtime.
    pub fn team(mut self, team: TeamSpec) -> Self {
        self.teams_to_assemble.push(team);
        self
    }

    /// Starts the runtime with its agents and teams. If one of them fails to
    /// start, all are stopped.
    pub async fn start(self) -> Result<AgentRuntime> {
        let runtime = AgentRuntime(Arc::new(Inner {
            bus: self.bus,
            registry: self.registry,
            delegations: self.delegations,
            teams: self.teams,
            plans: self.plans,
            worklist: self.worklist,
            codes: Codes::new(self.codes),
            options: self.options,
            factories: self.factories,
            routes: RouteCache::default(),
            host: Host::default(),
            agents: Mutex::new(HashMap::new()),
            changed: Notify::new(),
            stopped: AtomicBool::new(false),
        }));
        let started = start_all(&runtime, self.hosting, self.agents, self.teams_to_assemble).await;
        if let Err(error) = started {
            runtime.shutdown().await?;
            return Err(error);
        }
        supervise::start(&runtime.0);
        Ok(runtime)
    }
}

async fn start_all(
    runtime: &AgentRuntime,
    hosting: Option<HostingOptions>,
    agents: Vec<StartRequest>,
    teams: Vec<TeamSpec>,
) -> Result<()> {
    if let Some(hosting) = hosting {
        runtime.0.host.open(&runtime.0, hosting).await?;
    }
    for request in agents {
        runtime.start_or_undo(request).await?;
    }
    for team in teams {
        runtime.assemble_team(team).await?;
    }
    Ok(())
}
