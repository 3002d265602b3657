//! Builds what conversations are answered with, and connects it.

use std::sync::Arc;

use ostler_engine::tool::ToolSet;
use ostler_models::catalogue::{Catalogue, Options, Provider, SharedCatalogue, Uses};
use ostler_models::chance::Chance;
use ostler_models::cooldown::{Clock as RestClock, Cooldowns};
use ostler_models::http::{Http, Limits};
use ostler_models::price::PriceList;
use ostler_models::scripted::{Script, ScriptedModel};
use ostler_runtime::deltas::Deltas;
use ostler_runtime::inbound::Worker;
use ostler_runtime::inbound::accept::Intake;
use ostler_runtime::inbound::live::Live;
use ostler_runtime::parts::{Clock, Parts, Settings};
use ostler_store::Store;
use ostler_tools::web::Fetcher;

use crate::home::Home;

/// What conversations are answered with.
pub(crate) struct Kit {
    pub(crate) store: Store,
    pub(crate) worker: Worker,
    pub(crate) intake: Intake,
}

impl Kit {
    /// Opens an installation.
    pub(crate) async fn open(home: &Home) -> anyhow::Result<Self> {
        let store = Store::open(&home.database()).await?;
        Self::of(home, store)
    }

    /// Builds on a store that is open.
    pub(crate) fn of(home: &Home, store: Store) -> anyhow::Result<Self> {
        let live = Live::default();
        let mut tools = ostler_tools::catalogue::business(store.clone());
        tools.extend(ostler_tools::catalogue::web(&Fetcher::public()?));
        tools.extend(ostler_runtime::team::tools(&live));
        let settings = Settings::default();
        let backlog = settings.backlog;
        let parts = Parts {
            store: store.clone(),
            tools: Arc::new(ToolSet::new(tools)?),
            models: Arc::new(models(home)?),
            effects: Arc::new(ostler_tools::planner(store.clone())),
            deltas: Deltas::default(),
            clock: Clock::system(),
            settings,
        };
        let worker = Worker::new(parts, live);
        let intake = Intake::new(store.clone(), worker.bell().clone(), backlog);
        Ok(Self { store, worker, intake })
    }
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
