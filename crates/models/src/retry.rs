//! Retries: asks the same model again after a transient failure.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_domain::money::price::ModelPrice;
use ostler_domain::retry::RetryPolicy;
use ostler_engine::model::{Chunk, Model, ModelError, Request, Restart};

use crate::fault::Fault;
use crate::jitter::Jitter;

/// A model that is retried. Every new attempt is announced by a [`Chunk::Restart`]
/// before the wait, so that the text so far is discarded at once and every retry is
/// counted.
pub struct RetryingModel {
    name: String,
    model: Arc<dyn Model>,
    policy: RetryPolicy,
    jitter: Jitter,
}

impl RetryingModel {
    /// Wraps a model with [`RetryPolicy::MODEL`].
    pub fn new(name: impl Into<String>, model: Arc<dyn Model>, jitter: Jitter) -> Self {
        Self { name: name.into(), model, policy: RetryPolicy::MODEL, jitter }
    }

    /// Replaces the retry policy.
    #[must_use]
    pub fn with_policy(self, policy: RetryPolicy) -> Self {
        Self { policy, ..self }
    }
}

impl Model for RetryingModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let attempts = Attempts {
            name: self.name.clone(),
            model: self.model.clone(),
            policy: self.policy,
            jitter: self.jitter.clone(),
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
    jitter: Jitter,
    request: Request,
    /// The current or next attempt, starting with 1.
    attempt: u32,
    state: State,
}

enum State {
    Waiting(Duration),
    Answering(BoxStream<'static, Result<Chunk, ModelError>>),
    Done,
}

impl Attempts {
    async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            match &mut self.state {
                State::Done => return None,
                State::Waiting(wait) => {
                    if !wait.is_zero() {
                        tokio::time::sleep(*wait).await;
                    }
                    self.state = State::Answering(self.model.answer(self.request.clone()));
                }
                State::Answering(answer) => {
                    let piece = answer.next().await;
                    return Some(self.handle(piece));
                }
            }
        }
    }

    fn handle(&mut self, piece: Option<Result<Chunk, ModelError>>) -> Result<Chunk, ModelError> {
        let error = match piece {
            Some(Ok(chunk)) => {
                if matches!(chunk, Chunk::Done(_)) {
                    self.state = State::Done;
                }
                return Ok(chunk);
            }
            Some(Err(error)) => error,
            None => Fault::incomplete().for_model(&self.name),
        };
        let wait = error
            .kind
            .is_retryable()
            .then(|| self.policy.wait_after(self.attempt, error.retry_after, self.jitter.next()));
        let Some(wait) = wait.flatten() else {
            self.state = State::Done;
            return Err(error);
        };
        self.attempt += 1;
        self.state = State::Waiting(wait);
        let ModelError { model: failed, message: why, .. } = error;
        Ok(Chunk::Restart(Restart { failed, model: self.name.clone(), why }))
    }
}
