//! Connects the conversations of a process to the buses of its installation, over one
//! connection: doorbells under the platform's prefix, each org's agents under the org's own.
//! Doorbells wake the workers of other processes, the AI agents of every org receive their
//! messages, and delivery workers know where to reply.
//!
//! It accepts and answers nothing itself. If the broker is unavailable, the bridge logs that
//! once and keeps trying; nothing else waits for it, because workers also poll.

use std::time::Duration;

use ostler_bus::{BoxFuture, BusConnection, BusError, Consumer};
use ostler_domain::agent::Agent;
use ostler_domain::id::OrgId;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::queue_agent::name::AgentName;
use ostler_store::{Store, StoreError};
use tokio::sync::watch;

use crate::agents::{
    AgentRuntime, AgentRuntimes, AiAgent, HostingOptions, Placement, QueueError, StoredRecords,
};
use crate::conversation::Worker;
use crate::inbox::{Doorbell, Intake};
use crate::outage_log::OutageLog;

/// How often new orgs and agents are connected.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// How long to wait after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// How many registered agents are read at a time.
const PAGE: u32 = 100;
/// The prefix of doorbell queues before any org exists.
const DEFAULT_PREFIX: &str = "ostler.";

/// Why something is not connected.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Connects the conversations of a process to the buses. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BusBridge {
    store: Store,
    bell: Doorbell,
    intake: Intake,
    connection: BusConnection,
    agent_runtimes: AgentRuntimes,
}

impl BusBridge {
    /// Creates a bridge for a worker. Messages to agents are accepted by `intake`.
    pub fn for_worker(worker: &Worker, intake: Intake, connection: BusConnection) -> Self {
        let store = worker.deps().store.clone();
        let (bell, agent_runtimes) = (worker.bell().clone(), AgentRuntimes::default());
        Self { store, bell, intake, connection, agent_runtimes }
    }

    /// Keeps the agents of each org that are on a bus here.
    #[must_use]
    pub fn with_agent_runtimes(self, agent_runtimes: AgentRuntimes) -> Self {
        Self { agent_runtimes, ..self }
    }

    /// Returns the agents of each org that are on a bus.
    pub const fn agent_runtimes(&self) -> &AgentRuntimes {
        &self.agent_runtimes
    }

    /// Connects all orgs, including those that are added later, until it is stopped; then
    /// finishes the messages in progress.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut consumers = Vec::new();
        tokio::select! {
            () = self.connect(&mut consumers) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        for agents in self.agent_runtimes.drain() {
            if let Err(error) = agents.shutdown().await {
                tracing::warn!(%error, "agents not shut down cleanly");
            }
        }
        for consumer in &consumers {
            consumer.close().await;
        }
        self.connection.close().await;
    }

    async fn connect(&self, consumers: &mut Vec<Consumer>) {
        let outage = OutageLog::default();
        loop {
            let wait = match self.connect_missing(consumers).await {
                Ok(()) => {
                    if outage.record_success() {
                        tracing::warn!("all agents are connected to the bus");
                    }
                    CHECK_INTERVAL
                }
                Err(error) => {
                    if outage.record_failure() {
                        tracing::warn!(%error, "not all agents are connected to the bus, will retry");
                    }
                    RETRY_INTERVAL
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Connects what is not connected yet.
    fn connect_missing<'a>(
        &'a self,
        consumers: &'a mut Vec<Consumer>,
    ) -> BoxFuture<'a, Result<(), ConnectError>> {
        Box::pin(async move {
            let orgs = self.store.orgs().await?;
            if consumers.is_empty() && self.connection.is_shared() {
                let bus = self.connection.bus(&self.doorbell_prefix(&orgs))?;
                self.bell.connect(bus.clone());
                *consumers = self.bell.listen(&bus).await?;
            }
            for org in orgs {
                self.connect_org(org.id).await?;
            }
            Ok(())
        })
    }

    /// Returns the prefix of the doorbell queues: the same in every process of the
    /// installation, and different from other installations on the same broker.
    fn doorbell_prefix(&self, orgs: &[Org]) -> String {
        let platform = orgs.iter().find(|org| org.place == OrgPlace::Platform);
        let first = || orgs.iter().min_by_key(|org| org.id);
        let prefix = |org: &Org| StoredRecords::new(self.store.clone(), org.id).bus_prefix();
        platform.or_else(first).map_or_else(|| DEFAULT_PREFIX.to_owned(), prefix)
    }

    /// Registers the agents of an org on its bus.
    async fn connect_org(&self, org: OrgId) -> Result<(), ConnectError> {
        let mut agents = self.store.org(org).agents().await?;
        agents.retain(Agent::receives_messages);
        if agents.is_empty() && !self.has_hosted_agents(org).await? {
            return Ok(());
        }
        let runtime = match self.agent_runtimes.get(org) {
            Some(runtime) => runtime,
            None => {
                let stored = StoredRecords::new(self.store.clone(), org);
                let bus = self.connection.bus(&stored.bus_prefix())?;
                let builder = AgentRuntime::for_org(bus, &stored);
                let builder = builder.factory(AiAgent::TYPE, AiAgent::factory(self.intake.clone()));
                let runtime = builder.hosting(HostingOptions::default()).start().await?;
                self.agent_runtimes.insert(org, runtime.clone());
                runtime
            }
        };
        for agent in &agents {
            self.register(&runtime, agent).await?;
        }
        Ok(())
    }

    /// Returns whether people have registered hosted agents in an org.
    async fn has_hosted_agents(&self, org: OrgId) -> Result<bool, StoreError> {
        let mut after: Option<AgentName> = None;
        loop {
            let page = self.store.org(org).queue_agents(after.as_ref(), PAGE).await?;
            if page.iter().any(|agent| agent.placement == Placement::Hosted) {
                return Ok(true);
            }
            let Some(last) = page.last() else { return Ok(false) };
            after = Some(last.name.clone());
        }
    }

    /// Registers an agent under its slug, unless the name is taken.
    async fn register(&self, runtime: &AgentRuntime, agent: &Agent) -> Result<(), ConnectError> {
        let Ok(name) = agent.slug.parse() else { return Ok(()) };
        if runtime.registry().get(&name).await?.is_none() {
            let record = AiAgent::new(self.intake.clone(), agent.org, agent.id).record(name);
            runtime.host(record).await?;
        }
        Ok(())
    }
}
