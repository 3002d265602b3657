//! Client of the queue agents of an org: their records in the store, and the bus.
//!
//! Nobody else uses a bus of this process, so a command starts the agents that it
//! needs from their records and stops them at its end. On a broker, agents run in
//! other processes.

use std::time::Duration;

use anyhow::{Context as _, bail};
use ostler_bus::{Envelope, QueueName, RabbitOptions};
use ostler_domain::id::OrgId;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::Team;
use ostler_runtime::agents::{
    AgentRuntime, AgentRuntimes, AiAgent, HostingOptions, Placement, QueueError, StoredRecords,
};
use ostler_runtime::deps::Settings;
use ostler_runtime::inbox::{Doorbell, Intake};
use ostler_store::Store;
use serde_json::json;
use tokio::sync::Mutex;

use crate::app::{AnswerTask, App};
use crate::commands::args::{BusArgs, MessageArgs};
use crate::commands::find_org;
use crate::installation::Installation;

/// The URL of a bus in this process.
const MEMORY_BUS: &str = "memory:";
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
    in_process: bool,
    /// Answers the messages that AI agents of this process accept.
    answer_task: Mutex<Option<AnswerTask>>,
}

/// An agent that cannot be reached, with the reason.
pub(crate) struct UnavailableAgent {
    pub(crate) name: AgentName,
    pub(crate) error: QueueError,
}

impl AgentClient {
    pub(crate) async fn open(args: &BusArgs) -> anyhow::Result<Self> {
        let installation = Installation::find(&args.installation)?;
        let store = Store::open(&installation.database()).await?;
        let org = match &args.org {
            Some(name) => find_org(&store, name).await?,
            None => find_platform(&store).await?,
        };
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
                .factory(AiAgent::TYPE, AiAgent::factory(intake))
                .hosting(HostingOptions::default());
        }
        let (runtime, answer_task) = (builder.start().await?, Mutex::default());
        Ok(Self { runtime, installation, store, org: org.id, in_process, answer_task })
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

    /// Starts the agents that have to run in this process, and returns those that are
    /// unknown or cannot be started.
    pub(crate) async fn start<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
    ) -> anyhow::Result<Vec<UnavailableAgent>> {
        let mut unavailable = Vec::new();
        for name in names {
            let record = self.runtime.registry().get(name).await?;
            let Some(record) = record else {
                unavailable.push(UnavailableAgent {
                    name: name.clone(),
                    error: QueueError::UnknownAgent(name.clone()),
                });
                continue;
            };
            if self.in_process && record.agent_type == AiAgent::TYPE {
                self.start_answer_task().await?;
            }
            if !self.in_process || record.placement == Placement::Hosted {
                continue;
            }
            match self.runtime.start_registered(name).await {
                Ok(_) | Err(QueueError::AlreadyRunning(_)) => {}
                Err(
                    error @ (QueueError::UnknownAgentType(_) | QueueError::InvalidRecord { .. }),
                ) => {
                    unavailable.push(UnavailableAgent { name: name.clone(), error });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(unavailable)
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
        let running = self.runtime.running();
        for name in names.into_iter().filter(|name| running.contains(name)) {
            let queue = QueueName::agent(name);
            let empty = async {
                while self.runtime.bus().depth(&queue).await?.total() > 0 {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                anyhow::Ok(())
            };
            let waited = tokio::time::timeout(HANDLING_TIMEOUT, empty).await;
            waited.with_context(|| format!("`{name}` did not handle its messages in time"))??;
        }
        Ok(())
    }

    /// Returns a team, or fails if it is unknown.
    pub(crate) async fn team(&self, name: &TeamName) -> anyhow::Result<Team> {
        let team = self.runtime.teams().get(name).await?;
        Ok(team.ok_or_else(|| QueueError::UnknownTeam(name.clone()))?)
    }

    /// Creates an envelope with a new reference code.
    pub(crate) async fn new_message(&self, args: &MessageArgs) -> anyhow::Result<Envelope> {
        let code = self.runtime.new_reference_code().await?;
        let payload = json!({ "text": args.text });
        let mut envelope = Envelope::new(args.kind.clone(), payload, code);
        envelope.context.original_goal = Some(args.text.as_str().into());
        Ok(envelope)
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
