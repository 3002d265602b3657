//! A chain of models: when one fails for good, the next is asked.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, ModelErrorKind, Request, Restart};

use crate::cooldown::Cooldowns;
use crate::fault::Fault;

/// A model of a chain.
#[derive(Clone)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// The model.
    pub model: Arc<dyn Model>,
    /// What its key is known by; models with the same one rest together.
    pub key: String,
}

/// A chain of models. One whose key rests is passed over; if all rest, the one
/// whose rest ends first is asked all the same, since that is better than no
/// answer. What it costs is what the first costs.
pub struct Fallback {
    links: Vec<Link>,
    cooldowns: Cooldowns,
}

impl Fallback {
    /// A chain, best first.
    pub fn new(links: impl IntoIterator<Item = Link>, cooldowns: Cooldowns) -> Self {
        Self { links: links.into_iter().collect(), cooldowns }
    }

    /// Whom to ask in which order, and who is passed over and why.
    fn plan(&self) -> (VecDeque<Link>, Option<(String, String)>) {
        let rests = |link: &Link| self.cooldowns.of(&link.key);
        let awake: VecDeque<Link> =
            self.links.iter().filter(|link| rests(link).is_none()).cloned().collect();
        if awake.is_empty() {
            let soonest = self.links.iter().min_by_key(|link| rests(link).map(|rest| rest.until));
            return (soonest.cloned().into_iter().collect(), None);
        }
        let first = self.links.first();
        let passed = first.and_then(|link| Some((link.name.clone(), rests(link)?.why)));
        (awake, passed)
    }
}

impl Model for Fallback {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let (links, passed) = self.plan();
        let chain =
            Chain { links, passed, cooldowns: self.cooldowns.clone(), request, state: State::Next };
        stream::unfold(chain, |mut chain| async move {
            let piece = chain.next().await?;
            Some((piece, chain))
        })
        .boxed()
    }

    fn price(&self) -> ModelPrice {
        let free = ModelPrice::new(Usd::from_micros(0), Usd::from_micros(0));
        self.links.first().map_or(free, |link| link.model.price())
    }
}

struct Chain {
    /// Those that were not asked yet.
    links: VecDeque<Link>,
    /// Who was passed over or has failed, and why, if that was not told yet.
    passed: Option<(String, String)>,
    cooldowns: Cooldowns,
    request: Request,
    state: State,
}

enum State {
    Next,
    Answering(Link, BoxStream<'static, Result<Chunk, ModelError>>),
    Over,
}

impl Chain {
    async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            match &mut self.state {
                State::Over => return None,
                State::Next => {
                    let Some(link) = self.links.pop_front() else {
                        self.state = State::Over;
                        let kind = ModelErrorKind::UnknownModel;
                        return Some(Err(Fault::new(kind, "no model is configured").of("none")));
                    };
                    let answer = link.model.answer(self.request.clone());
                    let model = link.name.clone();
                    self.state = State::Answering(link, answer);
                    if let Some((failed, why)) = self.passed.take() {
                        return Some(Ok(Chunk::Restart(Restart { failed, model, why })));
                    }
                }
                State::Answering(_, answer) => {
                    let piece = answer.next().await;
                    if let Some(piece) = self.take(piece) {
                        return Some(piece);
                    }
                }
            }
        }
    }

    /// What a piece means for the chain; none if the next model is to be asked.
    fn take(
        &mut self,
        piece: Option<Result<Chunk, ModelError>>,
    ) -> Option<Result<Chunk, ModelError>> {
        let State::Answering(link, _) = &self.state else { return None };
        let error = match piece {
            Some(Ok(chunk)) => {
                if matches!(chunk, Chunk::Done(_)) {
                    self.cooldowns.clear(&link.key);
                    self.state = State::Over;
                }
                return Some(Ok(chunk));
            }
            Some(Err(error)) => error,
            None => Fault::cut().of(&link.name),
        };
        self.cooldowns.after(&link.key, &error);
        if self.links.is_empty() {
            self.state = State::Over;
            return Some(Err(error));
        }
        self.passed = Some((link.name.clone(), error.message));
        self.state = State::Next;
        None
    }
}
