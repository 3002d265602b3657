//! Builds the parts that answer conversations, and connects them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ostler_bus::{BusConnection, RabbitOptions};
use ostler_channels::secret::ChannelSecret;
use ostler_channels::{Channels, HttpLimits, NetworkAccess};
use ostler_engine::secret::read as read_secret;
use ostler_models::catalogue::{Catalogue, SharedCatalogue};
use ostler_runtime::agents::AgentRuntimes;
use ostler_runtime::bus_bridge::BusBridge;
use ostler_runtime::conversation::Worker;
use ostler_runtime::conversation::receive::InboundReceiver;
use ostler_runtime::conversation::receive::telegram_bots::UpdateMode;
use ostler_runtime::delivery::{DeliveryOptions, DeliveryWorker, Typing};
use ostler_runtime::deltas::Deltas;
use ostler_runtime::deps::{Clock, Deps, Settings};
use ostler_runtime::inbox::Intake;
use ostler_runtime::metrics::RuntimeMetrics;
use ostler_runtime::operations::Operations;
use ostler_runtime::operations::prune::RetentionWorker;
use ostler_runtime::operations::reflection::SoulReflector;
use ostler_runtime::operations::sweep::Sweeper;
use ostler_runtime::running_turns::RunningTurns;
use ostler_runtime::webhooks::{WebhookOptions, WebhookWorker};
use ostler_runtime::workflow::WorkflowRunner;
use ostler_server::metrics::{HttpMetrics, ReadMetrics};
use ostler_server::{
    ClientSecret, ConfigHost, IdentityProvider, QueueBus, Server, ServerDeps, ServerLimits,
    TableError, ThreadOptions,
};
use ostler_store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::commands::apply::Host;
use crate::config::server_limits;
use crate::installation::Installation;
use crate::model_uses::ModelUseRecorder;
use crate::telemetry::ProcessMetrics;
use crate::{model_catalogue, secrets, server_threads, tool_set};

/// Everything that answers conversations, connected.
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) worker: Worker,
    pub(crate) intake: Intake,
    pub(crate) catalogue: Arc<Catalogue>,
    /// The one of this process, so that no use is counted twice.
    pub(crate) model_uses: ModelUseRecorder,
    channels: Channels,
    send_options: DeliveryOptions,
    bus_url: String,
    update_mode: UpdateMode,
    threads: ThreadOptions,
    limits: ServerLimits,
    host: ConfigHost,
    agent_runtimes: AgentRuntimes,
    installation: Installation,
    http_metrics: HttpMetrics,
}

/// A task that answers for AI agents on the bus.
pub(crate) struct AnswerTask {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl AnswerTask {
    /// Stops after finishing work in progress.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.stop.send_replace(true);
        Ok(self.task.await?)
    }
}

/// The URL of a bus in this process.
pub(crate) const MEMORY_BUS: &str = "memory:";
/// How often due work is swept.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);
/// How long recording a delivery may take after the timeout of the provider.
const RECORD_MARGIN: Duration = Duration::from_secs(5);
/// How many messages are sent at the same time.
const CONCURRENT_SENDS: usize = 256;
/// How many workflows run at the same time.
const CONCURRENT_WORKFLOWS: usize = 16;

impl App {
    /// Opens an installation.
    pub(crate) async fn open(installation: &Installation) -> anyhow::Result<Self> {
        let store = installation.open_store().await?;
        Self::new(installation, store)
    }

    /// Builds the app on an open store.
    pub(crate) fn new(installation: &Installation, store: Store) -> anyhow::Result<Self> {
        let running_turns = RunningTurns::default();
        let mut settings = Settings::default();
        let mut send_options = DeliveryOptions::default();
        if let Some(timeout) = installation.lease_timeout() {
            settings.claims.lease = timeout;
            send_options.claim_timeout =
                timeout.max(HttpLimits::default().send_timeout + RECORD_MARGIN);
        }
        let backlog = settings.max_backlog;
        let catalogue = Arc::new(model_catalogue::build(installation)?);
        let deps = Deps {
            store: store.clone(),
            tools: tool_set::build(installation, &store, &running_turns)?,
            models: Arc::new(SharedCatalogue(catalogue.clone())),
            plan_effects: Arc::new(ostler_tools::effect_planner(store.clone())),
            deltas: Deltas::default(),
            clock: Clock::system(),
            settings,
            metrics: RuntimeMetrics::default(),
        };
        let threads = server_threads::options(installation, &store, catalogue.clone())?;
        let worker = Worker::new(deps, running_turns);
        let intake = Intake::new(store.clone(), worker.bell().clone(), backlog);
        let bus_url = installation.bus_url().to_owned();
        let update_mode =
            installation.config.public_url.clone().map_or(UpdateMode::Polling, UpdateMode::Webhook);
        Ok(Self {
            model_uses: ModelUseRecorder::new(&store, &catalogue),
            store,
            worker,
            intake,
            catalogue,
            channels: channels(installation)?,
            send_options,
            bus_url,
            update_mode,
            threads,
            limits: server_limits(&installation.config).map_err(|(_, why)| anyhow::anyhow!(why))?,
            host: ConfigHost(Arc::new(Host::new(installation)?)),
            agent_runtimes: AgentRuntimes::default(),
            installation: installation.clone(),
            http_metrics: HttpMetrics::default(),
        })
    }

    /// Answers conversations, sends replies, runs workflows and sweeps until it is
    /// stopped, and serves the HTTP API if there is a listener. Then it finishes
    /// work in progress.
    pub(crate) async fn run(
        &self,
        concurrency: usize,
        listener: Option<TcpListener>,
        stop: watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        let worker = self.worker.clone();
        let bus = BusConnection::connect_lazy(&self.bus_url, RabbitOptions::default())?;
        let bridge = BusBridge::for_worker(&worker, self.intake.clone(), bus)
            .with_agent_runtimes(self.agent_runtimes.clone());
        let delivery_worker =
            self.delivery_worker().with_agent_runtimes(bridge.agent_runtimes().clone());
        let sweeper = Sweeper::for_worker(&worker, SWEEP_INTERVAL);
        let typing = Typing::new(worker.running_turns().clone(), self.channels.clone());
        let runner = WorkflowRunner::new(worker.services())?;
        let mut tasks = JoinSet::new();
        let stopped = stop.clone();
        tasks.spawn(async move { runner.run(CONCURRENT_WORKFLOWS, stopped).await });
        // Replies of the last turns are sent too.
        let (turns_ended, deliver_until) = watch::channel(false);
        tasks.spawn(async move { delivery_worker.run(CONCURRENT_SENDS, deliver_until).await });
        let stopped = stop.clone();
        tasks.spawn(async move { sweeper.run(stopped).await });
        let (webhooks, stopped) = (self.webhook_worker(), stop.clone());
        tasks.spawn(async move { webhooks.run(stopped).await });
        let (retention, stopped) = (RetentionWorker::new(self.store.clone()), stop.clone());
        tasks.spawn(async move { retention.run(stopped).await });
        let (reflector, stopped) = (SoulReflector::for_worker(&worker), stop.clone());
        tasks.spawn(async move { reflector.run(stopped).await });
        let stopped = stop.clone();
        tasks.spawn(async move { typing.run(stopped).await });
        let stopped = stop.clone();
        tasks.spawn(async move { bridge.run(stopped).await });
        if let Some(listener) = listener {
            let (receiver, update_mode) = (self.receiver(), self.update_mode.clone());
            let stopped = stop.clone();
            tasks.spawn(async move { receiver.run_telegram_bots(&update_mode, stopped).await });
            let providers = identity_providers(&self.installation)?;
            let server = self.server()?.with_identity_providers(&providers);
            let mut stopped = stop.clone();
            tasks.spawn(async move {
                let shutdown =
                    async move { while !*stopped.borrow() && stopped.changed().await.is_ok() {} };
                server.serve(listener, shutdown).await;
            });
        }
        let (uses, stopped) = (self.model_uses.clone(), stop.clone());
        let recorder = uses.clone();
        tasks.spawn(async move { recorder.run(stopped).await });
        tasks.spawn(async move {
            worker.run(concurrency, stop).await;
            turns_ended.send_replace(true);
        });
        while tasks.join_next().await.is_some() {}
        uses.record().await;
        if let Err(error) = self.store.empty_log().await {
            tracing::warn!(%error, "write-ahead log not emptied");
        }
        Ok(())
    }

    /// Starts a task that answers for AI agents that are on a bus already.
    pub(crate) fn start_answer_task(&self, runtimes: AgentRuntimes) -> AnswerTask {
        let (stop, stopped) = watch::channel(false);
        let (worker, delivery_worker) =
            (self.worker.clone(), self.delivery_worker().with_agent_runtimes(runtimes));
        let task = tokio::spawn(async move {
            tokio::join!(worker.run(1, stopped.clone()), delivery_worker.run(1, stopped));
        });
        AnswerTask { stop, task }
    }

    fn delivery_worker(&self) -> DeliveryWorker {
        let (store, channels) = (self.store.clone(), self.channels.clone());
        let clock = self.worker.deps().clock.clone();
        let bell = self.worker.outbox_bell().clone();
        DeliveryWorker::new(store, channels, clock, self.send_options, bell)
            .with_metrics(self.worker.deps().metrics.clone())
    }

    fn webhook_worker(&self) -> WebhookWorker {
        let (store, channels) = (self.store.clone(), self.channels.clone());
        let clock = self.worker.deps().clock.clone();
        WebhookWorker::new(store, channels, clock, WebhookOptions::default())
    }

    /// Uses agents that are on a bus already, at this address.
    #[must_use]
    pub(crate) fn on_bus(self, url: &str, agent_runtimes: AgentRuntimes) -> Self {
        Self { bus_url: url.to_owned(), agent_runtimes, ..self }
    }

    /// Returns how what this process measures is read.
    pub(crate) fn read_metrics(&self) -> ReadMetrics {
        let mut metrics = ProcessMetrics::new(self.store.clone());
        self.worker.deps().metrics.register(&mut metrics.registry);
        self.catalogue.metrics().register(&mut metrics.registry);
        self.http_metrics.register(&mut metrics.registry);
        metrics.into_reader()
    }

    fn receiver(&self) -> InboundReceiver {
        let (org_views, channels) = (self.worker.org_views().clone(), self.channels.clone());
        let operations = Arc::new(Operations::for_worker(&self.worker));
        let clock = self.worker.deps().clock.clone();
        InboundReceiver::new(org_views, self.intake.clone(), channels, operations, clock)
    }

    /// Returns the server, which does not listen and knows no identity providers: their
    /// secrets are needed only where people log in.
    pub(crate) fn server(&self) -> Result<Server, TableError> {
        let deps = self.worker.deps();
        let operations = Operations::for_worker(&self.worker);
        let (store, channels, clock) =
            (self.store.clone(), self.channels.clone(), deps.clock.clone());
        let (receiver, deltas) = (self.receiver(), deps.deltas.clone());
        let public_url = match &self.update_mode {
            UpdateMode::Webhook(url) => Some(url.trim_end_matches('/').to_owned()),
            UpdateMode::Polling => None,
        };
        let threads = self.threads.clone();
        let server = Server::new(ServerDeps {
            store,
            operations,
            receiver,
            channels,
            deltas,
            clock,
            threads,
            host: self.host.clone(),
            queues: QueueBus {
                runtimes: self.agent_runtimes.clone(),
                is_shared: self.bus_url != MEMORY_BUS,
            },
            public_url,
        })?;
        Ok(server.with_limits(self.limits.clone()).with_metrics(self.http_metrics.clone()))
    }
}

/// Returns the identity providers with which people log in.
fn identity_providers(installation: &Installation) -> anyhow::Result<Vec<IdentityProvider>> {
    let providers = installation.config.identity_provider.iter().map(|provider| {
        let secret = provider.client_secret.as_ref().map(|secret| {
            let secret = installation.resolve_secret(secret);
            read_secret(&secret).with_context(|| {
                format!("the secret of the identity provider `{}` is missing", provider.name)
            })
        });
        Ok(IdentityProvider {
            name: provider.name.clone(),
            issuer: provider.issuer.clone(),
            client_id: provider.client_id.clone(),
            client_secret: secret
                .transpose()?
                .map(|secret| ClientSecret::new(secret.expose().to_owned())),
        })
    });
    providers.collect()
}

/// Builds the channels, with access to the secrets of each org.
pub(crate) fn channels(installation: &Installation) -> anyhow::Result<Channels> {
    let secrets = secrets::org_secrets(installation);
    let network_access = if installation.config.local_network {
        NetworkAccess::Unrestricted
    } else {
        NetworkAccess::Public
    };
    let read = move |org, at: &_| match secrets.read(org, at) {
        Ok(secret) => Ok(ChannelSecret::new(secret.expose())),
        Err(error) => Err(error.to_string()),
    };
    Ok(Channels::new(HttpLimits::default(), network_access, read)?)
}
