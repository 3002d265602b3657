//! Fallback: a chain of models in which the next is asked when one has failed after
//! all retries.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, ModelErrorKind, Request, Restart};

use crate::cooldown::Cooldowns;
use crate::fault::Fault;

/// A model in a chain.
#[derive(Clone)]
pub struct ChainEntry {
    pub name: String,
    pub model: Arc<dyn Model>,
    /// The cooldown key; models with the same one cool down together.
    pub key: String,
}

/// A chain of models. Models that are cooling down are skipped; if all are, the one
/// that is available first is asked anyway. The price is that of the first.
pub struct Fallback {
    entries: Vec<ChainEntry>,
    cooldowns: Cooldowns,
}

impl Fallback {
    /// Creates a chain, best first.
    pub fn new(entries: impl IntoIterator<Item = ChainEntry>, cooldowns: Cooldowns) -> Self {
        Self { entries: entries.into_iter().collect(), cooldowns }
    }

    /// Returns the models to ask, in order, and the first one if it is skipped, with
    /// the reason.
    fn plan(&self) -> (VecDeque<ChainEntry>, Option<(String, String)>) {
        let cooldown = |entry: &ChainEntry| self.cooldowns.get(&entry.key);
        let available: VecDeque<ChainEntry> =
            self.entries.iter().filter(|entry| cooldown(entry).is_none()).cloned().collect();
        if available.is_empty() {
            let soonest = self
                .entries
                .iter()
                .min_by_key(|entry| cooldown(entry).map(|cooldown| cooldown.until));
            return (soonest.cloned().into_iter().collect(), None);
        }
        let first = self.entries.first();
        let skipped = first.and_then(|entry| Some((entry.name.clone(), cooldown(entry)?.why)));
        (available, skipped)
    }
}

impl Model for Fallback {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let (entries, skipped) = self.plan();
        let chain = ActiveChain {
            entries,
            skipped,
            cooldowns: self.cooldowns.clone(),
            request,
            state: State::Next,
        };
        stream::unfold(chain, |mut chain| async move {
            let piece = chain.next().await?;
            Some((piece, chain))
        })
        .boxed()
    }

    fn price(&self) -> ModelPrice {
        let free = ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0));
        self.entries.first().map_or(free, |entry| entry.model.price())
    }
}

struct ActiveChain {
    /// The models not asked yet.
    entries: VecDeque<ChainEntry>,
    /// A model that was skipped or has failed, and why, if not yet reported.
    skipped: Option<(String, String)>,
    cooldowns: Cooldowns,
    request: Request,
    state: State,
}

enum State {
    Next,
    Answering(ChainEntry, BoxStream<'static, Result<Chunk, ModelError>>),
    Done,
}

impl ActiveChain {
    async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            match &mut self.state {
                State::Done => return None,
                State::Next => {
                    let Some(entry) = self.entries.pop_front() else {
                        self.state = State::Done;
                        let kind = ModelErrorKind::UnknownModel;
                        return Some(Err(
                            Fault::new(kind, "no model is configured").for_model("none")
                        ));
                    };
                    let answer = entry.model.answer(self.request.clone());
                    let model = entry.name.clone();
                    self.state = State::Answering(entry, answer);
                    if let Some((failed, why)) = self.skipped.take() {
                        return Some(Ok(Chunk::Restart(Restart { failed, model, why })));
                    }
                }
                State::Answering(_, answer) => {
                    let piece = answer.next().await;
                    if let Some(piece) = self.handle(piece) {
                        return Some(piece);
                    }
                }
            }
        }
    }

    /// Handles an item of the current answer; `None` if the next model is to be asked.
    fn handle(
        &mut self,
        piece: Option<Result<Chunk, ModelError>>,
    ) -> Option<Result<Chunk, ModelError>> {
        let State::Answering(entry, _) = &self.state else { return None };
        let error = match piece {
            Some(Ok(chunk)) => {
                if matches!(chunk, Chunk::Done(_)) {
                    self.cooldowns.clear(&entry.key);
                    self.state = State::Done;
                }
                return Some(Ok(chunk));
            }
            Some(Err(error)) => error,
            None => Fault::incomplete().for_model(&entry.name),
        };
        self.cooldowns.record_failure(&entry.key, &error);
        if self.entries.is_empty() {
            self.state = State::Done;
            return Some(Err(error));
        }
        self.skipped = Some((entry.name.clone(), error.message));
        self.state = State::Next;
        None
    }
}
