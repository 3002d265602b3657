//! Scripted models, and what they were asked.

use std::sync::{Arc, Mutex};

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_models::catalogue::{Catalogue, Options, SharedCatalogue, UsageCounts};
use ostler_models::cooldown::{CooldownClock, Cooldowns};
use ostler_models::http::{ClientLimits, Http};
use ostler_models::jitter::Jitter;
use ostler_models::metrics::ModelMetrics;
use ostler_models::price::PriceList;
use ostler_scripted::{Script, ScriptedModel};

/// One request to a model.
#[derive(Debug, Clone)]
pub(crate) struct ModelCall {
    /// The name of the model in the catalogue.
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) history: Vec<Item>,
    pub(crate) offered: Vec<String>,
    pub(crate) max_tokens: u64,
    pub(crate) at: tokio::time::Instant,
}

/// The requests to recording models, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelCalls(Arc<Mutex<Vec<ModelCall>>>);

impl ModelCalls {
    pub(crate) fn all(&self) -> Vec<ModelCall> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> ModelCall {
        self.all().pop().expect("a model was asked")
    }
}

/// A model that records its requests.
pub(crate) struct RecordingModel {
    name: String,
    model: Arc<dyn Model>,
    calls: ModelCalls,
}

impl RecordingModel {
    pub(crate) fn new(name: &str, model: Arc<dyn Model>, calls: ModelCalls) -> Self {
        Self { name: name.to_owned(), model, calls }
    }
}

impl Model for RecordingModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        self.calls.0.lock().unwrap().push(ModelCall {
            model: self.name.clone(),
            system: request.system.to_string(),
            history: request.history.to_vec(),
            offered: request.offered.to_vec(),
            max_tokens: request.max_tokens,
            at: tokio::time::Instant::now(),
        });
        self.model.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

/// Returns a model that follows a script.
pub(crate) fn scripted(script: &str) -> Arc<dyn Model> {
    let script = Script::parse("test.yaml", script).expect("a valid script");
    Arc::new(ScriptedModel::new(script))
}

/// Returns a catalogue of these models, without a default.
pub(crate) fn catalogue_of(models: Vec<(&str, Arc<dyn Model>)>) -> SharedCatalogue {
    catalogue_with_default(models, None)
}

fn catalogue_with_default(
    models: Vec<(&str, Arc<dyn Model>)>,
    default: Option<&str>,
) -> SharedCatalogue {
    let catalogue = Catalogue::new(Options {
        http: Http::new(ClientLimits::default()).unwrap(),
        providers: Vec::new(),
        prices: PriceList::built_in().unwrap(),
        default: default.map(str::to_owned),
        fallbacks: Vec::new(),
        jitter: Jitter::random(),
        cooldowns: Cooldowns::new(CooldownClock::system()),
        usage: UsageCounts::default(),
        metrics: ModelMetrics::default(),
    });
    let add = |catalogue: Catalogue, (name, model)| catalogue.with(name, model);
    SharedCatalogue(Arc::new(models.into_iter().fold(catalogue, add)))
}

/// Returns a catalogue with a scripted model, which is the default.
pub(crate) fn catalogue(script: &str) -> SharedCatalogue {
    catalogue_with_default(vec![("scripted", scripted(script))], Some("scripted"))
}

/// Returns a catalogue with a scripted model that records its requests.
pub(crate) fn recording_catalogue(script: &str) -> (SharedCatalogue, ModelCalls) {
    let calls = ModelCalls::default();
    let model = Arc::new(RecordingModel::new("scripted", scripted(script), calls.clone()));
    (catalogue_of(vec![("scripted", model)]), calls)
}
