//! A model that follows a script: deterministic, in this process, and without a
//! wait unless the script says so.
//!
//! A [`Script`] is read once, with the place and the remedy of whatever is wrong
//! with it. [`ScriptedModel`] answers a turn from it, and [`crate::mock`] answers
//! over HTTP from the same rules. It never looks at a clock and has no chance in
//! it; what it knows of earlier answers it works out from the conversation. The
//! language is described in `docs/SCRIPTED_MODEL.md`.

mod asked;
mod condition;
mod error;
mod player;
mod read;
mod reply;
mod script;
mod template;
mod yaml;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};

pub(crate) use asked::{Asked, Size};
pub use error::ScriptError;
pub(crate) use player::Player;
pub(crate) use reply::Reply;
pub use script::Script;
pub(crate) use script::{Fault, Wire};

/// A model that follows a script.
#[derive(Debug)]
pub struct ScriptedModel {
    name: String,
    player: Player,
}

impl ScriptedModel {
    /// A model that follows this script. Models do not share anything, so one
    /// script serves many.
    pub fn new(script: impl Into<Arc<Script>>) -> Self {
        let script = script.into();
        Self { name: script.model.clone(), player: Player::new(script) }
    }

    /// The same under another name, for scripts that tell models apart.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }
}

impl Model for ScriptedModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let reply = self.player.reply(&Asked {
            model: &self.name,
            system: &request.system,
            history: &request.history,
            offered: &request.offered,
            size: Size::Tools(&request.tools),
        });
        stream(reply, &self.name)
    }

    fn price(&self) -> ModelPrice {
        self.player.script.price
    }
}

/// An answer as it comes in this process.
fn stream(reply: Reply, model: &str) -> BoxStream<'static, Result<Chunk, ModelError>> {
    let error = reply.fault.map(|fault| Err(fault.error(model)));
    let items = reply.chunks.into_iter().map(Ok).chain(error);
    if reply.pace.is_instant() {
        return stream::iter(items).boxed();
    }
    let waits = std::iter::once(reply.pace.delay).chain(std::iter::repeat(reply.pace.pause));
    let paced = stream::iter(items.zip(waits)).then(|(item, wait)| async move {
        // What was used, and the end, come with the last piece.
        let is_piece = !matches!(item, Ok(Chunk::Usage(_) | Chunk::Done(_)));
        if is_piece && wait > Duration::ZERO {
            tokio::time::sleep(wait).await;
        }
        item
    });
    paced.boxed()
}
