//! How often models are used.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};

/// The most models that are counted; names come from people and from models.
const MOST: usize = 1000;

/// How often each model was asked. A copy shares the counts; whoever keeps them
/// begins with the old ones.
#[derive(Debug, Clone, Default)]
pub struct Uses(Arc<Mutex<BTreeMap<String, u64>>>);

impl Uses {
    /// How often a model was asked.
    pub fn of(&self, name: &str) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied().unwrap_or(0)
    }

    /// How often every model was asked.
    pub fn all(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, name: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(name) {
            *count = count.saturating_add(1);
        } else if counts.len() < MOST {
            counts.insert(name.to_owned(), 1);
        }
    }
}

impl FromIterator<(String, u64)> for Uses {
    fn from_iter<I: IntoIterator<Item = (String, u64)>>(counts: I) -> Self {
        Self(Arc::new(Mutex::new(counts.into_iter().collect())))
    }
}

/// A model whose uses are counted.
pub(super) struct Counted {
    name: String,
    model: Arc<dyn Model>,
    uses: Uses,
}

impl Counted {
    pub(super) fn new(name: &str, model: Arc<dyn Model>, uses: Uses) -> Self {
        Self { name: name.to_owned(), model, uses }
    }
}

impl Model for Counted {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        self.uses.count(&self.name);
        self.model.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}
