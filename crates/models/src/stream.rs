//! Response streams: from bytes to chunks, for both wire formats.

use std::collections::VecDeque;
use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ostler_engine::model::{Chunk, ModelError, ModelErrorKind};
use ostler_engine::secret::Secret;

use crate::fault::Fault;
use crate::http::{Http, PostRequest, ResponseBody};
use crate::sse::{SseEvent, SseParser};

/// The chunks of an answer.
pub(crate) type ChunkStream = BoxStream<'static, Result<Chunk, ModelError>>;

/// A decoder for the events of one wire format.
pub(crate) trait Decoder: Send + 'static {
    /// Decodes an event and adds its chunks. Returns true if the answer is complete,
    /// with [`Chunk::Done`] as the last chunk.
    fn decode(&mut self, event: &SseEvent<'_>, out: &mut VecDeque<Chunk>) -> Result<bool, Fault>;

    /// Handles the end of the stream. Adds [`Chunk::Done`] if the answer is complete
    /// nevertheless.
    fn finish(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), Fault>;
}

/// Sends a request and decodes the response. Nothing happens before the stream is
/// polled; dropping it closes the connection.
pub(crate) fn answer<D: Decoder>(
    model: String,
    http: Http,
    post: impl FnOnce() -> Result<PostRequest, Fault> + Send + 'static,
    decoder: D,
) -> ChunkStream {
    let request = async move {
        let reader = open(http, post, decoder).await;
        match reader {
            Ok(reader) => reader.stream(model),
            Err(fault) => stream::iter([Err(fault.for_model(&model))]).boxed(),
        }
    };
    flatten(request)
}

fn flatten(request: impl Future<Output = ChunkStream> + Send + 'static) -> ChunkStream {
    stream::once(request).flatten().boxed()
}

async fn open<D: Decoder>(
    http: Http,
    post: impl FnOnce() -> Result<PostRequest, Fault>,
    decoder: D,
) -> Result<ChunkReader<D>, Fault> {
    let post = post()?;
    let key = post.key.clone();
    let body = http.post(post).await?;
    let parser = SseParser::new(http.limits().event_bytes);
    Ok(ChunkReader { body, parser, decoder, ready: VecDeque::new(), done: false, key })
}

struct ChunkReader<D> {
    body: ResponseBody,
    parser: SseParser,
    decoder: D,
    ready: VecDeque<Chunk>,
    done: bool,
    key: Option<Secret>,
}

impl<D: Decoder> ChunkReader<D> {
    fn stream(self, model: String) -> ChunkStream {
        stream::unfold((self, model), |(mut reader, model)| async move {
            let piece = reader.next().await?.map_err(|fault| fault.for_model(&model));
            Some((piece, (reader, model)))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<Chunk, Fault>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(Ok(chunk));
            }
            if self.done {
                return None;
            }
            if let Err(fault) = self.read().await {
                self.done = true;
                // Chunks received together with the failure are void.
                self.ready.clear();
                return Some(Err(fault.redacted(self.key.as_ref())));
            }
        }
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let Some(bytes) = self.body.chunk().await? else {
            self.done = true;
            return self.finish();
        };
        self.parser.feed(bytes.as_ref());
        while let Some(event) = self.parser.next_event().map_err(Fault::malformed)? {
            if self.decoder.decode(&event, &mut self.ready)? {
                self.done = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        if let Some(event) = self.parser.last_event().map_err(Fault::malformed)? {
            match self.decoder.decode(&event, &mut self.ready) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // An event that was cut off is incomplete, not malformed.
                Err(fault) if fault.kind == ModelErrorKind::Malformed => {
                    return Err(Fault::incomplete());
                }
                Err(fault) => return Err(fault),
            }
        }
        self.decoder.finish(&mut self.ready)
    }
}
