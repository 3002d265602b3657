//! From the bytes of a provider to the pieces of an answer: what both wire
//! formats have in common.

use std::collections::VecDeque;
use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_engine::model::{Chunk, ModelError, ModelErrorKind};
use ostler_engine::secret::Secret;

use crate::fault::Fault;
use crate::http::{Body, Http, Post};
use crate::sse::{Event, Parser};

/// The pieces of an answer.
pub(crate) type Answer = BoxStream<'static, Result<Chunk, ModelError>>;

/// Understands the events of one wire format.
pub(crate) trait Decoder: Send + 'static {
    /// Takes an event; adds what it means. True if the answer is complete, and
    /// then [`Chunk::Done`] was added last.
    fn event(&mut self, event: &Event<'_>, out: &mut VecDeque<Chunk>) -> Result<bool, Fault>;

    /// The stream has ended without saying that the answer is complete. Adds
    /// [`Chunk::Done`] if it is so nevertheless.
    fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), Fault>;
}

/// Asks, and decodes what comes. Nothing happens before the stream is polled;
/// dropping it closes the connection.
pub(crate) fn answer<D: Decoder>(
    model: String,
    http: Http,
    post: impl FnOnce() -> Result<Post, Fault> + Send + 'static,
    decoder: D,
) -> Answer {
    let asking = async move {
        let pieces = open(http, post, decoder).await;
        match pieces {
            Ok(pieces) => pieces.stream(model),
            Err(fault) => stream::iter([Err(fault.of(&model))]).boxed(),
        }
    };
    flatten(asking)
}

fn flatten(asking: impl Future<Output = Answer> + Send + 'static) -> Answer {
    stream::once(asking).flatten().boxed()
}

async fn open<D: Decoder>(
    http: Http,
    post: impl FnOnce() -> Result<Post, Fault>,
    decoder: D,
) -> Result<Pieces<D>, Fault> {
    let post = post()?;
    let key = post.key.clone();
    let body = http.post(post).await?;
    let parser = Parser::new(http.limits().event_bytes);
    Ok(Pieces { body, parser, decoder, ready: VecDeque::new(), over: false, key })
}

struct Pieces<D> {
    body: Body,
    parser: Parser,
    decoder: D,
    ready: VecDeque<Chunk>,
    over: bool,
    key: Option<Secret>,
}

impl<D: Decoder> Pieces<D> {
    fn stream(self, model: String) -> Answer {
        stream::unfold((self, model), |(mut pieces, model)| async move {
            let piece = pieces.next().await?.map_err(|fault| fault.of(&model));
            Some((piece, (pieces, model)))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<Chunk, Fault>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(Ok(chunk));
            }
            if self.over {
                return None;
            }
            if let Err(fault) = self.read().await {
                self.over = true;
                // What came before the failure in the same bytes is void anyway.
                self.ready.clear();
                return Some(Err(fault.without(self.key.as_ref())));
            }
        }
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let Some(bytes) = self.body.chunk().await? else {
            self.over = true;
            return self.ended();
        };
        self.parser.feed(bytes.as_ref());
        while let Some(event) = self.parser.next_event().map_err(Fault::malformed)? {
            if self.decoder.event(&event, &mut self.ready)? {
                self.over = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn ended(&mut self) -> Result<(), Fault> {
        if let Some(event) = self.parser.last_event().map_err(Fault::malformed)? {
            match self.decoder.event(&event, &mut self.ready) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // Half an event is not a wrong one.
                Err(fault) if fault.kind == ModelErrorKind::Malformed => return Err(Fault::cut()),
                Err(fault) => return Err(fault),
            }
        }
        self.decoder.end(&mut self.ready)
    }
}
