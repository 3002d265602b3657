//! Usage counts of models.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};

/// The most models that are counted, because names come from people and from
/// models.
const MAX_MODELS: usize = 1000;

/// How often each model was asked. Clones share the counts; stored counts are
/// restored with `FromIterator`.
#[derive(Debug, Clone, Default)]
pub struct UsageCounts(Arc<Mutex<BTreeMap<String, u64>>>);

impl UsageCounts {
    /// Returns how often a model was asked.
    pub fn get(&self, name: &str) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied().unwrap_or(0)
    }

    /// Returns the counts of all models.
    pub fn all(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, name: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(name) {
            *count = count.saturating_add(1);
        } else if counts.len() < MAX_MODELS {
            counts.insert(name.to_owned(), 1);
        }
    }
}

impl FromIterator<(String, u64)> for UsageCounts {
    fn from_iter<I: IntoIterator<Item = (String, u64)>>(counts: I) -> Self {
        Self(Arc::new(Mutex::new(counts.into_iter().collect())))
    }
}

/// A model whose calls are counted.
pub(super) struct CountedModel {
    name: String,
    model: Arc<dyn Model>,
    usage: UsageCounts,
}

impl CountedModel {
    pub(super) fn new(name: &str, model: Arc<dyn Model>, usage: UsageCounts) -> Self {
        Self { name: name.to_owned(), model, usage }
    }
}

impl Model for CountedModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        self.usage.count(&self.name);
        self.model.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}
