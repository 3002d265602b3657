//! Asking the same model again when it fails in a way that may pass.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_domain::money::price::ModelPrice;
use ostler_domain::retry::RetryPolicy;
use ostler_engine::model::{Chunk, Model, ModelError, Request, Restart};

use crate::chance::Chance;
use crate::fault::Fault;

/// A model that is asked again. Every new attempt is announced by a
/// [`Chunk::Restart`] before the wait, so that what came before is void at once
/// and every retry is counted.
pub struct Retrying {
    name: String,
    model: Arc<dyn Model>,
    policy: RetryPolicy,
    chance: Chance,
}

impl Retrying {
    /// Asks a model as often as [`RetryPolicy::MODEL`] says.
    pub fn new(name: impl Into<String>, model: Arc<dyn Model>, chance: Chance) -> Self {
        Self { name: name.into(), model, policy: RetryPolicy::MODEL, chance }
    }

    /// The same, by another policy.
    #[must_use]
    pub fn with_policy(self, policy: RetryPolicy) -> Self {
        Self { policy, ..self }
    }
}

impl Model for Retrying {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let attempts = Attempts {
            name: self.name.clone(),
            model: self.model.clone(),
            policy: self.policy,
            chance: self.chance.clone(),
            request,
            attempt: 1,
            state: State::Waiting(Duration::ZERO),
        };
        stream::unfold(attempts, |mut attempts| async move {
            let piece = attempts.next().await?;
            Some((piece, attempts))
        })
        .boxed()
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

struct Attempts {
    name: String,
    model: Arc<dyn Model>,
    policy: RetryPolicy,
    chance: Chance,
    request: Request,
    /// The attempt that is under way or comes next, the first being 1.
    attempt: u32,
    state: State,
}

enum State {
    Waiting(Duration),
    Answering(BoxStream<'static, Result<Chunk, ModelError>>),
    Over,
}

impl Attempts {
    async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            match &mut self.state {
                State::Over => return None,
                State::Waiting(wait) => {
                    if !wait.is_zero() {
                        tokio::time::sleep(*wait).await;
                    }
                    self.state = State::Answering(self.model.answer(self.request.clone()));
                }
                State::Answering(answer) => {
                    let piece = answer.next().await;
                    return Some(self.take(piece));
                }
            }
        }
    }

    fn take(&mut self, piece: Option<Result<Chunk, ModelError>>) -> Result<Chunk, ModelError> {
        let error = match piece {
            Some(Ok(chunk)) => {
                if matches!(chunk, Chunk::Done(_)) {
                    self.state = State::Over;
                }
                return Ok(chunk);
            }
            Some(Err(error)) => error,
            None => Fault::cut().of(&self.name),
        };
        let wait = error
            .kind
            .is_retryable()
            .then(|| self.policy.wait_after(self.attempt, error.retry_after, self.chance.next()));
        let Some(wait) = wait.flatten() else {
            self.state = State::Over;
            return Err(error);
        };
        self.attempt += 1;
        self.state = State::Waiting(wait);
        let ModelError { model: failed, message: why, .. } = error;
        Ok(Chunk::Restart(Restart { failed, model: self.name.clone(), why }))
    }
}
