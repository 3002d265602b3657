//! Builds what conversations are answered with, and connects it.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{RabbitOptions, Trunk};
use ostler_channels::secret::Secret;
use ostler_channels::{Channels, Limits as ChannelLimits, Reach};
use ostler_models::catalogue::{Catalogue, Options, Provider, SharedCatalogue, Uses};
use ostler_models::chance::Chance;
use ostler_models::cooldown::{Clock as RestClock, Cooldowns};
use ostler_models::http::{Http, Limits};
use ostler_models::price::PriceList;
use ostler_models::scripted::{Script, ScriptedModel};
use ostler_runtime::delivery::{Courier, SendOptions, Typing};
use ostler_runtime::deltas::Deltas;
use ostler_runtime::inbound::Worker;
use ostler_runtime::inbound::accept::Intake;
use ostler_runtime::inbound::live::Live;
use ostler_runtime::inbound::receive::Reception;
use ostler_runtime::inbound::receive::attend::Updates;
use ostler_runtime::operations::Operations;
use ostler_runtime::parts::{Clock, Parts, Settings};
use ostler_runtime::queue::Staff;
use ostler_runtime::sweep::Sweeper;
use ostler_runtime::switchboard::Switchboard;
use ostler_runtime::workflow::Runner;
use ostler_server::Server;
use ostler_server::server::Parts as ServerParts;
use ostler_store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::home::Home;
use crate::toolbox;

/// What conversations are answered with.
pub(crate) struct Kit {
    pub(crate) store: Store,
    pub(crate) worker: Worker,
    pub(crate) intake: Intake,
    channels: Channels,
    sending: SendOptions,
    bus: String,
    updates: Updates,
}

/// Somebody who answers what is asked of agents.
pub(crate) struct Answering {
    stop: watch::Sender<bool>,
    working: JoinHandle<()>,
}

impl Answering {
    /// Finishes what was begun.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.stop.send_replace(true);
        Ok(self.working.await?)
    }
}

/// How often what is due is looked for.
const SWEEP: Duration = Duration::from_secs(5);
/// How much longer than a provider may take a message is kept from others.
const TO_RECORD: Duration = Duration::from_secs(5);
/// How many messages are sent at once.
const COURIERS: usize = 4;
/// How many workflows are in work at once.
const WORKFLOWS: usize = 16;

impl Kit {
    /// Opens an installation.
    pub(crate) async fn open(home: &Home) -> anyhow::Result<Self> {
        let store = Store::open(&home.database()).await?;
        Self::of(home, store)
    }

    /// Builds on a store that is open.
    pub(crate) fn of(home: &Home, store: Store) -> anyhow::Result<Self> {
        let live = Live::default();
        let mut settings = Settings::default();
        let mut sending = SendOptions::default();
        if let Some(time) = home.given_up_after() {
            settings.claims.lease = time;
            sending.claim = time.max(ChannelLimits::default().send + TO_RECORD);
        }
        let backlog = settings.backlog;
        let parts = Parts {
            store: store.clone(),
            tools: toolbox::tools(home, &store, &live)?,
            models: Arc::new(models(home)?),
            effects: Arc::new(ostler_tools::planner(store.clone())),
            deltas: Deltas::default(),
            clock: Clock::system(),
            settings,
        };
        let worker = Worker::new(parts, live);
        let intake = Intake::new(store.clone(), worker.bell().clone(), backlog);
        let bus = home.bus().to_owned();
        let updates = home.config.public_url.clone().map_or(Updates::Asked, Updates::Brought);
        Ok(Self { store, worker, intake, channels: channels(home)?, sending, bus, updates })
    }

    /// Answers, sends and sweeps, and serves whoever connects if there is a
    /// place to listen at, until it is stopped; then finishes what was begun.
    pub(crate) async fn run(
        &self,
        at_once: usize,
        listener: Option<TcpListener>,
        stop: watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        let worker = self.worker.clone();
        let trunk = Trunk::reach(&self.bus, RabbitOptions::default())?;
        let switchboard = Switchboard::beside(&worker, self.intake.clone(), trunk);
        let courier = self.courier().answering_on(switchboard.staff().clone());
        let sweeper = Sweeper::beside(&worker, SWEEP);
        let typing = Typing::new(worker.live().clone(), self.channels.clone());
        let runner = Runner::beside(&worker)?;
        let mut all = JoinSet::new();
        let stopped = stop.clone();
        all.spawn(async move { runner.run(WORKFLOWS, stopped).await });
        let stopped = stop.clone();
        all.spawn(async move { courier.run(COURIERS, stopped).await });
        let stopped = stop.clone();
        all.spawn(async move { sweeper.run(stopped).await });
        let stopped = stop.clone();
        all.spawn(async move { typing.run(stopped).await });
        let stopped = stop.clone();
        all.spawn(async move { switchboard.run(stopped).await });
        if let Some(listener) = listener {
            let (reception, updates) = (self.reception(), self.updates.clone());
            let stopped = stop.clone();
            all.spawn(async move { reception.attend(&updates, stopped).await });
            let (server, mut stopped) = (self.server(), stop.clone());
            all.spawn(async move {
                let over =
                    async move { while !*stopped.borrow() && stopped.changed().await.is_ok() {} };
                server.serve(listener, over).await;
            });
        }
        all.spawn(async move { worker.run(at_once, stop).await });
        while all.join_next().await.is_some() {}
        Ok(())
    }

    /// Answers what is asked of agents that are on a bus already.
    pub(crate) fn answer_on(&self, staff: Staff) -> Answering {
        let (stop, stopped) = watch::channel(false);
        let (worker, courier) = (self.worker.clone(), self.courier().answering_on(staff));
        let working = tokio::spawn(async move {
            tokio::join!(worker.run(1, stopped.clone()), courier.run(1, stopped));
        });
        Answering { stop, working }
    }

    fn courier(&self) -> Courier {
        let (store, channels) = (self.store.clone(), self.channels.clone());
        let clock = self.worker.parts().clock.clone();
        let bell = self.worker.outbox_bell().clone();
        Courier::new(store, channels, clock, self.sending, bell)
    }

    fn reception(&self) -> Reception {
        let (store, channels) = (self.store.clone(), self.channels.clone());
        let people = Arc::new(Operations::beside(&self.worker));
        let clock = self.worker.parts().clock.clone();
        Reception::new(store, self.intake.clone(), channels, people, clock)
    }

    fn server(&self) -> Server {
        let parts = self.worker.parts();
        let operations = Operations::beside(&self.worker);
        let (store, channels, clock) =
            (self.store.clone(), self.channels.clone(), parts.clock.clone());
        let (reception, deltas) = (self.reception(), parts.deltas.clone());
        Server::new(ServerParts { store, operations, reception, channels, deltas, clock })
    }
}

/// The channels, with the secrets of each org.
pub(crate) fn channels(home: &Home) -> anyhow::Result<Channels> {
    let secrets = toolbox::secrets(home);
    let reach = if home.config.local_network { Reach::Anywhere } else { Reach::Public };
    let read = move |org, at: &_| match secrets.read(org, at) {
        Ok(secret) => Ok(Secret::new(secret.expose())),
        Err(error) => Err(error.to_string()),
    };
    Ok(Channels::new(ChannelLimits::default(), reach, read)?)
}

/// The models: the providers whose keys are in the environment, and the script.
fn models(home: &Home) -> anyhow::Result<SharedCatalogue> {
    let script = home.script();
    let scripted = script.as_deref().map(Script::load).transpose()?;
    let fallback = scripted.is_some().then(|| SCRIPTED.to_owned());
    let mut catalogue = Catalogue::new(Options {
        http: Http::new(Limits::default())?,
        providers: Provider::built_in(),
        prices: PriceList::built_in()?,
        default: home.config.model.clone().or(fallback),
        fallbacks: Vec::new(),
        chance: Chance::random(),
        cooldowns: Cooldowns::new(RestClock::system()),
        uses: Uses::default(),
    });
    if let Some(script) = scripted {
        catalogue = catalogue.with(SCRIPTED, Arc::new(ScriptedModel::new(script)));
    }
    Ok(SharedCatalogue(Arc::new(catalogue)))
}

/// The name of the model that follows a script.
const SCRIPTED: &str = "scripted";
