//! A fake model without a network.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, ModelErrorKind, Request};

use crate::ask::PRICE;

type Answer = Vec<Result<Chunk, ModelError>>;

/// Gives one answer after the other; then empty streams.
pub(crate) struct Fake {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<tokio::time::Instant>>,
}

impl Fake {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect());
        Self { answers, asked: Mutex::default() }
    }

    /// Returns how often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Returns the waits between requests, in milliseconds.
    pub(crate) fn waits(&self) -> Vec<u128> {
        let asked = self.asked.lock().unwrap();
        asked.windows(2).map(|two| (two[1] - two[0]).as_millis()).collect()
    }
}

impl Model for Fake {
    fn answer(&self, _: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        self.asked.lock().unwrap().push(tokio::time::Instant::now());
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        stream::iter(answer).boxed()
    }

    fn price(&self) -> ModelPrice {
        PRICE
    }
}

pub(crate) fn error(model: &str, kind: ModelErrorKind) -> ModelError {
    ModelError { model: model.into(), kind, message: format!("{kind:?}"), retry_after: None }
}
