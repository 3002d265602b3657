//! A scripted model for tests, demonstrations and measurements: deterministic, in
//! process, and instant unless the script sets a delay.
//!
//! A [`Script`] is parsed once; errors name the position and the remedy.
//! [`ScriptedModel`] answers turns from it, and [`mock`] serves the same answers
//! over HTTP. Answers depend only on the conversation, never on a clock or on
//! randomness. The language is described in `docs/SCRIPTED_MODEL.md`.

mod condition;
mod error;
pub mod mock;
mod parse;
mod reply;
mod request;
mod responder;
mod script;
mod template;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};

pub use error::ScriptError;
pub(crate) use reply::ScriptedReply;
pub(crate) use request::{ModelRequest, ToolTokens};
pub(crate) use responder::Responder;
pub use script::Script;
pub(crate) use script::{Fault, WireQuirks};

/// A model that follows a script.
#[derive(Debug)]
pub struct ScriptedModel {
    name: String,
    responder: Responder,
}

impl ScriptedModel {
    /// Creates a model. Models share no state, so one script can serve many.
    pub fn new(script: impl Into<Arc<Script>>) -> Self {
        let script = script.into();
        Self { name: script.model.clone(), responder: Responder::new(script) }
    }

    /// Sets the model name, for scripts that distinguish models.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }
}

impl Model for ScriptedModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let reply = self.responder.reply(&ModelRequest {
            model: &self.name,
            system: &request.system,
            history: &request.history,
            offered: &request.offered,
            size: ToolTokens::Tools(&request.tools),
        });
        stream(reply, &self.name)
    }

    fn price(&self) -> ModelPrice {
        self.responder.script.price
    }
}

/// Streams a reply with the delays of the script.
fn stream(reply: ScriptedReply, model: &str) -> BoxStream<'static, Result<Chunk, ModelError>> {
    let error = reply.fault.map(|fault| Err(fault.error(model)));
    let items = reply.chunks.into_iter().map(Ok).chain(error);
    if reply.timing.is_instant() {
        return stream::iter(items).boxed();
    }
    let waits = std::iter::once(reply.timing.delay).chain(std::iter::repeat(reply.timing.pause));
    let paced = stream::iter(items.zip(waits)).then(|(item, wait)| async move {
        // Usage and the end come with the last chunk.
        let is_piece = !matches!(item, Ok(Chunk::Usage(_) | Chunk::Done(_)));
        if is_piece && wait > Duration::ZERO {
            tokio::time::sleep(wait).await;
        }
        item
    });
    paced.boxed()
}
