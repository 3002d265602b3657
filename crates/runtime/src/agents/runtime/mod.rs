//! The runtime: the agents of this process and what they share.
//!
//! | file | owns |
//! |---|---|
//! | `builder` | building a runtime |
//! | `start`, `stop` | starting and stopping agents, also when cancelled |
//! | `membership` | teams of agents that run in any process |
//! | `team` | assembling and dissolving teams |
//! | `host` | agents that share queues, created on demand and evicted when idle |
//! | `routing` | the queue of an agent |
//! | `selection` | the agent that gets work |
//! | `delegation` | delegations and their notifications |
//! | `human_answers` | answers of humans |
//! | `plans` | what an answered plan leads to |
//! | `supervise` | periodic supervision: presence, deadlines, caches |
//! | `status` | the status of the runtime |

mod builder;
mod delegation;
mod host;
mod human_answers;
mod membership;
mod plans;
mod routing;
mod selection;
mod start;
mod status;
mod stop;
mod supervise;
mod team;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_bus::MessageBus;
use ostler_domain::queue_agent::authority::AuthorityTier;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::sla::SlaPolicy;
use ostler_domain::reference::ReferenceCode;
use tokio::sync::Notify;

use super::codes::Codes;
use super::delegations::Delegations;
use super::error::{QueueError, Result};
use super::factory::Factories;
use super::harness::QueueAgentHarness;
use super::plans::Plans;
use super::registry::Registry;
use super::teams::Teams;
use super::worklist::WorkList;
use host::Host;
use routing::RouteCache;

pub use builder::AgentRuntimeBuilder;
pub use delegation::TaskAssignment;
pub use host::HostingOptions;
pub use status::{AgentHealth, QueueAgentStatus, QueueService, QueueStatus, RuntimeStatus};
pub use team::TeamSpec;

/// Options of a runtime.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// The authority of a message without claims.
    pub tier_without_claims: AuthorityTier,
    /// Approves plans if neither a claim nor a team names an approver.
    pub approver: Option<AgentName>,
    /// Receives overdue work in the end; if `None`, the delegating agent.
    pub escalate_to: Option<AgentName>,
    pub sla: SlaPolicy,
    /// How often presence is renewed and deadlines are checked.
    pub supervision_interval: Duration,
    /// How long an agent counts as available after its last renewal.
    pub presence_ttl: Duration,
    /// Number of queues shared by hosted agents; the same in every process.
    pub shards: u16,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            tier_without_claims: AuthorityTier::WITHOUT_CLAIMS,
            approver: None,
            escalate_to: None,
            sla: SlaPolicy::default(),
            supervision_interval: Duration::from_secs(10),
            presence_ttl: Duration::from_secs(45),
            shards: 16,
        }
    }
}

/// The agents of this process. Cheap to clone; all clones are the same runtime.
/// When the last one is dropped, its agents stop.
#[derive(Clone)]
pub struct AgentRuntime(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) bus: Arc<dyn MessageBus>,
    registry: Arc<dyn Registry>,
    delegations: Arc<dyn Delegations>,
    teams: Arc<dyn Teams>,
    plans: Arc<dyn Plans>,
    worklist: Arc<dyn WorkList>,
    codes: Codes,
    options: RuntimeOptions,
    factories: Factories,
    routes: RouteCache,
    host: Host,
    agents: Mutex<HashMap<AgentName, AgentSlot>>,
    /// Notified when an agent started or stopped.
    changed: Notify,
    stopped: AtomicBool,
}

enum AgentSlot {
    Starting,
    Running(Arc<QueueAgentHarness>),
}

impl AgentRuntime {
    /// Returns the bus.
    pub fn bus(&self) -> &Arc<dyn MessageBus> {
        &self.0.bus
    }

    /// Returns the agent records.
    pub fn registry(&self) -> &dyn Registry {
        &*self.0.registry
    }

    /// Returns the delegations.
    pub fn delegations(&self) -> &dyn Delegations {
        &*self.0.delegations
    }

    /// Returns the teams.
    pub fn teams(&self) -> &dyn Teams {
        &*self.0.teams
    }

    /// Returns the work lists of humans.
    pub fn worklist(&self) -> &dyn WorkList {
        &*self.0.worklist
    }

    /// Returns the plans that wait for approval.
    pub fn plans(&self) -> &dyn Plans {
        &*self.0.plans
    }

    /// Returns whether the runtime was shut down.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.stopped.load(std::sync::atomic::Ordering::SeqCst)
    }

    pub(super) fn options(&self) -> &RuntimeOptions {
        &self.0.options
    }

    /// Returns a reference code for a new request.
    pub async fn new_reference_code(&self) -> Result<ReferenceCode> {
        self.0.codes.next().await
    }

    /// Returns the agents running in this process, ordered by name.
    pub fn running(&self) -> Vec<AgentName> {
        let mut names: Vec<_> =
            self.harnesses().iter().map(|harness| harness.spec.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the agents of a team running in this process, ordered by name.
    pub fn running_in(&self, team: &TeamName) -> Vec<AgentName> {
        let all = self.harnesses();
        let inside = all.iter().filter(|harness| harness.is_in(team));
        let mut names: Vec<_> = inside.map(|harness| harness.spec.name.clone()).collect();
        names.sort_unstable();
        names
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<AgentName, AgentSlot>> {
        self.0.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn harnesses(&self) -> Vec<Arc<QueueAgentHarness>> {
        let running = |entry: &AgentSlot| match entry {
            AgentSlot::Running(harness) => Some(Arc::clone(harness)),
            AgentSlot::Starting => None,
        };
        self.agents().values().filter_map(running).collect()
    }

    fn harness(&self, name: &AgentName) -> Option<Arc<QueueAgentHarness>> {
        match self.agents().get(name) {
            Some(AgentSlot::Running(harness)) => Some(Arc::clone(harness)),
            Some(AgentSlot::Starting) | None => None,
        }
    }

    /// Runs a task to its end even if the caller is cancelled.
    async fn run_to_completion<T: Send + 'static>(
        task: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        tokio::spawn(task).await.unwrap_or(Err(QueueError::Stopped))
    }
}

impl std::fmt::Debug for AgentRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRuntime").field("running", &self.running()).finish()
    }
}
