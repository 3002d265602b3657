//! Where agents on queues are spoken to: their records in the store, and the bus.
//!
//! A bus in this process has nobody on it, so what a command needs is started
//! from the records, and stopped with it. On a broker are those who consume.

use std::time::Duration;

use anyhow::{Context as _, bail};
use ostler_bus::{Envelope, QueueName, RabbitOptions};
use ostler_domain::dispatch::life::Team;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::id::OrgId;
use ostler_domain::org::{Org, Place};
use ostler_runtime::inbound::accept::{Doorbell, Intake};
use ostler_runtime::parts::Settings;
use ostler_runtime::queue::{AgentRuntime, Ai, Hosting, Placement, QueueError, Staff, Stored};
use ostler_store::Store;
use serde_json::json;
use tokio::sync::Mutex;

use crate::cli::queue::{Reach, Saying};
use crate::commands::find_org;
use crate::home::Home;
use crate::kit::{Answering, Kit};

/// The bus of this process.
const IN_PROCESS: &str = "memory:";
/// How long messages on a bus of this process may take to be handled.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether they are.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The place from which agents are spoken to.
pub(crate) struct Desk {
    pub(crate) runtime: AgentRuntime,
    home: Home,
    store: Store,
    org: OrgId,
    in_process: bool,
    /// Answers for AI agents of this process, which only accept.
    answering: Mutex<Option<Answering>>,
}

/// An agent that could not be started here.
pub(crate) struct Asleep {
    pub(crate) name: AgentName,
    pub(crate) why: QueueError,
}

impl Desk {
    pub(crate) async fn open(reach: &Reach) -> anyhow::Result<Self> {
        let home = Home::find(&reach.at)?;
        let store = Store::open(&home.database()).await?;
        let org = match &reach.org {
            Some(name) => find_org(&store, name).await?,
            None => platform(&store).await?,
        };
        let stored = Stored::new(store.clone(), org.id);
        let address = reach.bus.clone().unwrap_or_else(|| home.bus().to_owned());
        let in_process = address == IN_PROCESS;
        let options = RabbitOptions { prefix: stored.bus_prefix(), ..RabbitOptions::default() };
        let bus = ostler_bus::open(&address, options).await?;
        let mut builder = AgentRuntime::of_org(bus, &stored);
        if in_process {
            let backlog = Settings::default().backlog;
            let intake = Intake::new(store.clone(), Doorbell::default(), backlog);
            builder = builder.factory(Ai::TYPE, Ai::factory(intake)).hosting(Hosting::default());
        }
        let (runtime, answering) = (builder.start().await?, Mutex::default());
        Ok(Self { runtime, home, store, org: org.id, in_process, answering })
    }

    /// Has somebody answer what AI agents accept.
    async fn answer(&self) -> anyhow::Result<()> {
        let mut answering = self.answering.lock().await;
        if answering.is_none() {
            let staff = Staff::default();
            staff.enter(self.org, self.runtime.clone());
            *answering = Some(Kit::of(&self.home, self.store.clone())?.answer_on(staff));
        }
        Ok(())
    }

    /// Has agents there for a message to them. Those that cannot be are returned.
    pub(crate) async fn wake<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
    ) -> anyhow::Result<Vec<Asleep>> {
        let mut asleep = Vec::new();
        for name in names {
            let record = self.runtime.registry().get(name).await?;
            let Some(record) = record else {
                asleep.push(Asleep {
                    name: name.clone(),
                    why: QueueError::UnknownAgent(name.clone()),
                });
                continue;
            };
            if self.in_process && record.agent_type == Ai::TYPE {
                self.answer().await?;
            }
            if !self.in_process || record.placement == Placement::Hosted {
                continue;
            }
            match self.runtime.start_recorded(name).await {
                Ok(_) | Err(QueueError::AlreadyRunning(_)) => {}
                Err(why @ (QueueError::UnknownType(_) | QueueError::Config { .. })) => {
                    asleep.push(Asleep { name: name.clone(), why });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(asleep)
    }

    /// Returns when what was sent to these agents is in somebody's hands: on a
    /// broker it is, in this process it has to be handled first.
    pub(crate) async fn settle<'a>(
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
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                anyhow::Ok(())
            };
            let waited = tokio::time::timeout(PATIENCE, empty).await;
            waited.with_context(|| format!("`{name}` did not handle what was sent to it"))??;
        }
        Ok(())
    }

    /// A team that is not unknown.
    pub(crate) async fn team(&self, name: &TeamName) -> anyhow::Result<Team> {
        let team = self.runtime.teams().get(name).await?;
        Ok(team.ok_or_else(|| QueueError::UnknownTeam(name.clone()))?)
    }

    /// A new message.
    pub(crate) async fn message(&self, saying: &Saying) -> anyhow::Result<Envelope> {
        let code = self.runtime.new_code().await?;
        let payload = json!({ "text": saying.text });
        let mut envelope = Envelope::new(saying.kind.clone(), payload, code);
        envelope.context.original_goal = Some(saying.text.as_str().into());
        Ok(envelope)
    }

    /// Stops what was started here; what it had in work is done.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.runtime.shutdown().await?;
        if let Some(answering) = self.answering.into_inner() {
            answering.stop().await?;
        }
        self.runtime.bus().close().await;
        Ok(())
    }
}

/// The one org that is the platform.
async fn platform(store: &Store) -> anyhow::Result<Org> {
    let orgs = store.orgs().await?;
    match orgs.into_iter().find(|org| org.place == Place::Platform) {
        Some(org) => Ok(org),
        None => bail!("there is no platform org here; name an org with --org"),
    }
}
