//! The runtime: the agents of this process, and what they share.
//!
//! | file | owns |
//! |---|---|
//! | `builder` | putting a runtime together |
//! | `start`, `stop` | agents coming and going, cancelled or not |
//! | `team` | teams coming and going |
//! | `host` | agents that share queues: made when needed, put away when idle |
//! | `post` | where a message to an agent goes |
//! | `choice` | which agent gets work |
//! | `work` | delegations, and telling who they concern |
//! | `people` | the answers of people |
//! | `supervise` | what is done again and again: presence, deadlines, cleaning |
//! | `status` | how everything is |

mod builder;
mod choice;
mod host;
mod people;
mod post;
mod start;
mod status;
mod stop;
mod supervise;
mod team;
mod work;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_bus::MessageBus;
use ostler_domain::dispatch::authority::Tier;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::dispatch::sla::SlaPolicy;
use ostler_domain::reference::ReferenceCode;
use tokio::sync::Notify;

use super::codes::Codes;
use super::delegations::Delegations;
use super::error::{QueueError, Result};
use super::factory::Factories;
use super::harness::Harness;
use super::plans::Plans;
use super::registry::Registry;
use super::teams::Teams;
use super::worklist::WorkList;
use host::Host;
use post::Routes;

pub use builder::Builder;
pub use host::Hosting;
pub use status::{AgentStatus, Condition, Status};
pub use team::TeamSpec;
pub use work::Assignment;

/// What holds for all agents of a runtime.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// How far an agent may go with a message that carries no claims.
    pub tier_without_claims: Tier,
    /// Who approves plans where neither a claim nor a team says it.
    pub approver: Option<AgentName>,
    /// Who gets late work in the end; whoever delegated it, if nobody.
    pub escalate_to: Option<AgentName>,
    /// What happens when work is late.
    pub sla: SlaPolicy,
    /// How often presence is renewed and deadlines are looked at.
    pub tick: Duration,
    /// How long an agent counts as there after it was last heard of.
    pub presence: Duration,
    /// How many queues the hosted agents share; the same on every node.
    pub shards: u16,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            tier_without_claims: Tier::WITHOUT_CLAIMS,
            approver: None,
            escalate_to: None,
            sla: SlaPolicy::default(),
            tick: Duration::from_secs(10),
            presence: Duration::from_secs(45),
            shards: 16,
        }
    }
}

/// The agents of this process. It is cheap to clone, and all clones are the
/// same runtime; with the last of them its agents stop.
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
    routes: Routes,
    host: Host,
    agents: Mutex<HashMap<AgentName, Entry>>,
    /// An agent came or went.
    changed: Notify,
    stopped: AtomicBool,
}

/// An agent of this process.
enum Entry {
    Starting,
    Running(Arc<Harness>),
}

impl AgentRuntime {
    /// The bus.
    pub fn bus(&self) -> &Arc<dyn MessageBus> {
        &self.0.bus
    }

    /// The records of agents.
    pub fn registry(&self) -> &dyn Registry {
        &*self.0.registry
    }

    /// The delegations.
    pub fn delegations(&self) -> &dyn Delegations {
        &*self.0.delegations
    }

    /// The teams.
    pub fn teams(&self) -> &dyn Teams {
        &*self.0.teams
    }

    /// The work lists of people.
    pub fn worklist(&self) -> &dyn WorkList {
        &*self.0.worklist
    }

    pub(super) fn plans(&self) -> &dyn Plans {
        &*self.0.plans
    }

    pub(super) fn options(&self) -> &RuntimeOptions {
        &self.0.options
    }

    /// A reference code for a new request.
    pub async fn new_code(&self) -> Result<ReferenceCode> {
        self.0.codes.next().await
    }

    /// The agents that run here, by name.
    pub fn running(&self) -> Vec<AgentName> {
        let mut names: Vec<_> = self.harnesses().iter().map(|one| one.spec.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// The agents of a team that run here, by name.
    pub fn running_in(&self, team: &TeamName) -> Vec<AgentName> {
        let all = self.harnesses();
        let inside = all.iter().filter(|one| one.is_in(team));
        let mut names: Vec<_> = inside.map(|one| one.spec.name.clone()).collect();
        names.sort_unstable();
        names
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<AgentName, Entry>> {
        self.0.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn harnesses(&self) -> Vec<Arc<Harness>> {
        let running = |entry: &Entry| match entry {
            Entry::Running(harness) => Some(Arc::clone(harness)),
            Entry::Starting => None,
        };
        self.agents().values().filter_map(running).collect()
    }

    fn harness(&self, name: &AgentName) -> Option<Arc<Harness>> {
        match self.agents().get(name) {
            Some(Entry::Running(harness)) => Some(Arc::clone(harness)),
            Some(Entry::Starting) | None => None,
        }
    }

    /// A task that nobody may cancel: its caller may go away, and it goes on.
    async fn to_its_end<T: Send + 'static>(
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
