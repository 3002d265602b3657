//! Client of the queue agents of an org: their records in the store, and the bus.
//!
//! Nobody else uses a bus of this process, so a command starts the agents that it
//! needs from their records and stops them at its end. On a broker, agents run in
//! other processes.

use std::time::Duration;

use anyhow::{Context as _, bail};
use ostler_bus::{RabbitOptions, now};
use ostler_domain::id::OrgId;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::{
    AgentRecord, AgentRuntime, AgentRuntimes, AiAgent, HostingOptions, Placement, QueueError,
    StoredRecords,
};
use ostler_runtime::deps::Settings;
use ostler_runtime::inbox::{Doorbell, Intake};
use ostler_store::Store;
use tokio::sync::Mutex;

use crate::app::{AnswerTask, App, MEMORY_BUS};
use crate::commands::args::BusArgs;
use crate::commands::find_org;
use crate::installation::Installation;

/// How long agents of this process may take to handle a message.
const HANDLING_TIMEOUT: Duration = Duration::from_secs(60);
/// How often their queues are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A connection to the queue agents of an org.
pub(crate) struct AgentClient {
    pub(crate) runtime: AgentRuntime,
    installation: Installation,
    store: Store,
    org: OrgId,
    bus_url: String,
    in_process: bool,
    /// Answers the messages that AI agents of this process accept.
    answer_task: Mutex<Option<AnswerTask>>,
}

impl AgentClient {
    pub(crate) async fn open(args: &BusArgs) -> anyhow::Result<Self> {
        let installation = Installation::find(&args.installation)?;
        let store = installation.open_store().await?;
        let org = match &args.org {
            Some(name) => find_org(&store, name).await?,
            None => find_platform(&store).await?,
        };
        Self::connect(args, installation, store, org).await
    }

    /// Opens the installation with the queue agents of this org.
    pub(crate) async fn open_for(args: &BusArgs, org: OrgId) -> anyhow::Result<Self> {
        let installation = Installation::find(&args.installation)?;
        let store = installation.open_store().await?;
        let org = store.org(org).org().await?;
        Self::connect(args, installation, store, org).await
    }

    async fn connect(
        args: &BusArgs,
        installation: Installation,
        store: Store,
        org: Org,
    ) -> anyhow::Result<Self> {
        let stored = StoredRecords::new(store.clone(), org.id);
        let address = args.url.clone().unwrap_or_else(|| installation.bus_url().to_owned());
        let in_process = address == MEMORY_BUS;
        let options = RabbitOptions { prefix: stored.bus_prefix(), ..RabbitOptions::default() };
        let bus = ostler_bus::open(&address, options).await?;
        let mut builder = AgentRuntime::for_org(bus, &stored);
        if in_process {
            let backlog = Settings::default().max_backlog;
            let intake = Intake::new(store.clone(), Doorbell::default(), backlog);
            builder = builder
                .factory(AiAgent::TYPE, AiAgent::factory_on_own_bus(intake))
                .hosting(HostingOptions::default());
        }
        let (runtime, answer_task) = (builder.start().await?, Mutex::default());
        let org = org.id;
        let bus_url = address;
        Ok(Self { runtime, installation, store, org, bus_url, in_process, answer_task })
    }

    /// Starts the task that answers for AI agents, unless it runs.
    async fn start_answer_task(&self) -> anyhow::Result<()> {
        let mut answer_task = self.answer_task.lock().await;
        if answer_task.is_none() {
            let runtimes = AgentRuntimes::default();
            runtimes.insert(self.org, self.runtime.clone());
            *answer_task =
                Some(App::new(&self.installation, self.store.clone())?.start_answer_task(runtimes));
        }
        Ok(())
    }

    pub(crate) const fn org(&self) -> OrgId {
        self.org
    }

    pub(crate) const fn installation(&self) -> &Installation {
        &self.installation
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn bus_url(&self) -> &str {
        &self.bus_url
    }

    /// Returns whether the bus exists in this process only.
    pub(crate) const fn is_in_process(&self) -> bool {
        self.in_process
    }

    /// Starts the agents that have to run in this process, and returns why others
    /// are unknown, stopped or cannot be started.
    pub(crate) async fn start<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
    ) -> anyhow::Result<Vec<QueueError>> {
        let mut unavailable = Vec::new();
        for name in names {
            let error = match self.runtime.registry().get(name).await? {
                None => Some(QueueError::UnknownAgent(name.clone())),
                Some(record) => self.start_record(&record).await?,
            };
            unavailable.extend(error);
        }
        Ok(unavailable)
    }

    /// Starts an agent if it has to run in this process, and returns why it cannot.
    async fn start_record(&self, record: &AgentRecord) -> anyhow::Result<Option<QueueError>> {
        if record.placement == Placement::Hosted {
            if !record.is_available(now()) {
                return Ok(Some(QueueError::AgentStopped(record.name.clone())));
            }
            if self.in_process && record.agent_type == AiAgent::TYPE {
                self.start_answer_task().await?;
            }
            return Ok(None);
        }
        if !self.in_process {
            return Ok(None);
        }
        match self.runtime.start_registered(&record.name).await {
            Ok(_) | Err(QueueError::AlreadyRunning(_)) => Ok(None),
            Err(error @ (QueueError::UnknownAgentType(_) | QueueError::InvalidRecord { .. })) => {
                Ok(Some(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until agents of this process have handled the messages to them. On a
    /// broker, messages are safe once they are sent, and this returns at once.
    pub(crate) async fn wait_until_handled<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
    ) -> anyhow::Result<()> {
        if !self.in_process {
            return Ok(());
        }
        for name in names {
            let queue = self.runtime.queue_of(name).await?;
            let empty = async {
                loop {
                    let depth = self.runtime.bus().depth(&queue).await?;
                    if depth.total() == 0 || depth.consumers == 0 {
                        return anyhow::Ok(());
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            let waited = tokio::time::timeout(HANDLING_TIMEOUT, empty).await;
            waited.with_context(|| format!("`{name}` did not handle its messages in time"))??;
        }
        Ok(())
    }

    /// Stops the agents that were started here, after they have finished their work.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.runtime.shutdown().await?;
        if let Some(task) = self.answer_task.into_inner() {
            task.stop().await?;
        }
        self.runtime.bus().close().await;
        Ok(())
    }
}

/// Returns the platform org.
async fn find_platform(store: &Store) -> anyhow::Result<Org> {
    let orgs = store.orgs().await?;
    match orgs.into_iter().find(|org| org.place == OrgPlace::Platform) {
        Some(org) => Ok(org),
        None => bail!("there is no platform org here; name an org with --org"),
    }
}
