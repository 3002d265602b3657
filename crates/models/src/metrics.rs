//! What is measured of models: requests, their durations and tokens, by model.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request, Usage};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The most models with values of their own, because names come from people. The others share
/// one.
const MAX_MODELS: usize = 200;
const OTHER_MODELS: &str = "other";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    model: Arc<str>,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    model: Arc<str>,
    kind: &'static str,
}

/// What is measured of models. Clones share the values.
#[derive(Debug, Clone)]
pub struct ModelMetrics {
    durations: Family<RequestLabels, Histogram, fn() -> Histogram>,
    tokens: Family<TokenLabels, Counter>,
    models: Arc<Mutex<BTreeSet<Arc<str>>>>,
}

impl Default for ModelMetrics {
    fn default() -> Self {
        Self {
            durations: Family::new_with_constructor(duration_histogram),
            tokens: Family::default(),
            models: Arc::default(),
        }
    }
}

fn duration_histogram() -> Histogram {
    Histogram::new([0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0])
}

impl ModelMetrics {
    /// Makes the values part of what a process exports.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "ostler_model_request_duration",
            "Time from a request to a model to the end of its answer",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register(
            "ostler_model_tokens",
            "Tokens that models read and wrote",
            self.tokens.clone(),
        );
    }

    fn label(&self, name: &str) -> Arc<str> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = models.get(name) {
            return known.clone();
        }
        let label: Arc<str> = if models.len() < MAX_MODELS { name } else { OTHER_MODELS }.into();
        models.insert(label.clone());
        label
    }

    fn add_tokens(&self, model: &Arc<str>, usage: Usage) {
        let Usage { input, output, cached, .. } = usage;
        let counts =
            [("input", input.saturating_sub(cached)), ("cached_input", cached), ("output", output)];
        for (kind, count) in counts {
            self.tokens.get_or_create(&TokenLabels { model: model.clone(), kind }).inc_by(count);
        }
    }
}

/// A model whose requests are measured, each attempt by itself.
pub(crate) struct MeasuredModel {
    model: Arc<dyn Model>,
    label: Arc<str>,
    metrics: ModelMetrics,
}

impl MeasuredModel {
    pub(crate) fn new(name: &str, model: Arc<dyn Model>, metrics: ModelMetrics) -> Self {
        Self { model, label: metrics.label(name), metrics }
    }
}

impl Model for MeasuredModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let mut measured = MeasuredRequest {
            model: self.label.clone(),
            metrics: self.metrics.clone(),
            started: Instant::now(),
            usage: Usage::default(),
            result: "cancelled",
        };
        self.model.answer(request).inspect(move |item| measured.record(item)).boxed()
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

/// A request in progress. It is recorded when its stream is dropped.
struct MeasuredRequest {
    model: Arc<str>,
    metrics: ModelMetrics,
    started: Instant,
    usage: Usage,
    result: &'static str,
}

impl MeasuredRequest {
    fn record(&mut self, item: &Result<Chunk, ModelError>) {
        match item {
            Ok(Chunk::Usage(usage)) => self.usage = *usage,
            Ok(Chunk::Done(_)) => self.result = "done",
            Ok(_) => {}
            Err(_) => self.result = "failed",
        }
    }
}

impl Drop for MeasuredRequest {
    fn drop(&mut self) {
        let labels = RequestLabels { model: self.model.clone(), result: self.result };
        let seconds = self.started.elapsed().as_secs_f64();
        self.metrics.durations.get_or_create(&labels).observe(seconds);
        self.metrics.add_tokens(&self.model, self.usage);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_MODELS, ModelMetrics};

    #[test]
    fn names_beyond_the_limit_share_a_value() {
        let metrics = ModelMetrics::default();
        for number in 0..MAX_MODELS {
            assert_eq!(&*metrics.label(&format!("p/{number}")), format!("p/{number}"));
        }
        assert_eq!(&*metrics.label("p/one-more"), "other");
        assert_eq!(&*metrics.label("p/7"), "p/7");
    }
}
