//! Putting a runtime together: everything is in memory that is not given.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use ostler_bus::MessageBus;
use ostler_domain::dispatch::name::TeamName;
use tokio::sync::Notify;

use super::host::{Host, Hosting};
use super::post::Routes;
use super::start::Boot;
use super::team::TeamSpec;
use super::{AgentRuntime, Inner, RuntimeOptions, supervise};
use crate::queue::agent::Agent;
use crate::queue::codes::{CodeSource, Codes, MemoryCodes};
use crate::queue::delegations::{Delegations, MemoryDelegations};
use crate::queue::error::Result;
use crate::queue::factory::Factories;
use crate::queue::plans::{MemoryPlans, Plans};
use crate::queue::registry::{AgentRecord, MemoryRegistry, Registry};
use crate::queue::spec::Spec;
use crate::queue::teams::{MemoryTeams, Teams};
use crate::queue::worklist::{MemoryWorkList, WorkList};

/// A runtime that is being put together.
#[must_use = "nothing runs before it is started"]
pub struct Builder {
    bus: Arc<dyn MessageBus>,
    registry: Arc<dyn Registry>,
    delegations: Arc<dyn Delegations>,
    teams: Arc<dyn Teams>,
    plans: Arc<dyn Plans>,
    worklist: Arc<dyn WorkList>,
    codes: Box<dyn CodeSource>,
    options: RuntimeOptions,
    factories: Factories,
    hosting: Option<Hosting>,
    agents: Vec<Boot>,
    assembled: Vec<TeamSpec>,
}

impl AgentRuntime {
    /// A runtime on this bus.
    pub fn builder(bus: Arc<dyn MessageBus>) -> Builder {
        Builder {
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
            assembled: Vec::new(),
        }
    }
}

impl Builder {
    /// Keeps the records of agents there.
    pub fn registry(mut self, registry: Arc<dyn Registry>) -> Self {
        self.registry = registry;
        self
    }

    /// Keeps delegations there.
    pub fn delegations(mut self, delegations: Arc<dyn Delegations>) -> Self {
        self.delegations = delegations;
        self
    }

    /// Keeps teams there.
    pub fn teams(mut self, teams: Arc<dyn Teams>) -> Self {
        self.teams = teams;
        self
    }

    /// Keeps plans that wait for approval there.
    pub fn plans(mut self, plans: Arc<dyn Plans>) -> Self {
        self.plans = plans;
        self
    }

    /// Keeps the work lists of people there.
    pub fn worklist(mut self, worklist: Arc<dyn WorkList>) -> Self {
        self.worklist = worklist;
        self
    }

    /// Draws the numbers of reference codes from there.
    pub fn codes(mut self, codes: impl CodeSource) -> Self {
        self.codes = Box::new(codes);
        self
    }

    /// Says what holds for all agents.
    pub fn options(mut self, options: RuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// Has records of this type make agents.
    pub fn factory<A: Agent>(
        mut self,
        agent_type: impl Into<String>,
        make: impl Fn(&AgentRecord) -> Result<A, String> + Send + Sync + 'static,
    ) -> Self {
        self.factories.add(agent_type, make);
        self
    }

    /// Has this node host agents.
    pub fn hosting(mut self, hosting: Hosting) -> Self {
        self.hosting = Some(hosting);
        self
    }

    /// Has an agent started with the runtime.
    pub fn agent(mut self, spec: Spec, agent: impl Agent) -> Self {
        self.agents.push(Boot { spec, agent: Arc::new(agent), team: None });
        self
    }

    /// Has an agent started in a team with the runtime.
    pub fn agent_in_team(mut self, team: TeamName, spec: Spec, agent: impl Agent) -> Self {
        self.agents.push(Boot { spec, agent: Arc::new(agent), team: Some(team) });
        self
    }

    /// Has a team assembled with the runtime.
    pub fn team(mut self, team: TeamSpec) -> Self {
        self.assembled.push(team);
        self
    }

    /// Starts the runtime with all that was named. If one of the agents cannot
    /// be started, none runs.
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
            routes: Routes::default(),
            host: Host::default(),
            agents: Mutex::new(HashMap::new()),
            changed: Notify::new(),
            stopped: AtomicBool::new(false),
        }));
        let opened = open(&runtime, self.hosting, self.agents, self.assembled).await;
        if let Err(error) = opened {
            runtime.shutdown().await?;
            return Err(error);
        }
        supervise::start(&runtime.0);
        Ok(runtime)
    }
}

async fn open(
    runtime: &AgentRuntime,
    hosting: Option<Hosting>,
    agents: Vec<Boot>,
    teams: Vec<TeamSpec>,
) -> Result<()> {
    if let Some(hosting) = hosting {
        runtime.0.host.open(&runtime.0, hosting).await?;
    }
    for boot in agents {
        runtime.start_boot(boot).await?;
    }
    for team in teams {
        runtime.assemble(team).await?;
    }
    Ok(())
}
