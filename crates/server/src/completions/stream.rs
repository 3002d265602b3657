//! The answer of an agent in pieces. What was sent cannot be taken back: if the text so far
//! is discarded, the next one follows after a blank line, and the end has whatever is missing.

use axum::response::sse::Event;
use ostler_api::completion::{
    CompletionChunk, CompletionChunkChoice, CompletionDelta, CompletionFinish,
};
use ostler_domain::id::RunId;
use ostler_runtime::operations::AgentAnswer;

use super::answer;
use super::error::ChatError;
use crate::agent_reply::{PendingReply, ReplyEvent};
use crate::stream::{Disconnected, EventSink};

/// Ends a stream.
const DONE: &str = "[DONE]";

/// The text that a client has got.
#[derive(Debug, Default)]
pub(super) struct StreamedText {
    /// Whether anything was sent.
    is_begun: bool,
    /// What was sent since the last break.
    current: String,
    /// The offset in the draft where the next text belongs; unknown after a break.
    next_offset: Option<usize>,
}

impl StreamedText {
    /// Returns what to send of more text, if it continues what was sent.
    pub(super) fn add(&mut self, offset: usize, text: &str) -> String {
        let is_new_draft = offset == 0 && !self.current.is_empty();
        if is_new_draft {
            self.break_off();
        }
        if self.next_offset.is_some_and(|next| next != offset) {
            return String::new();
        }
        self.next_offset = Some(offset + text.len());
        self.push(text)
    }

    /// Begins another text.
    pub(super) fn break_off(&mut self) {
        self.current.clear();
        self.next_offset = None;
    }

    /// Returns what is missing of the whole text.
    pub(super) fn complete(&mut self, whole: &str) -> String {
        let found = Some(self.current.as_str()).filter(|sent| !sent.is_empty());
        let found = found.and_then(|sent| Some(whole.rfind(sent)? + sent.len()));
        match found {
            Some(end) => whole.get(end..).unwrap_or_default().to_owned(),
            None => {
                self.current.clear();
                self.push(whole)
            }
        }
    }

    fn push(&mut self, text: &str) -> String {
        let before = if self.is_begun && self.current.is_empty() && !text.is_empty() {
            answer::BREAK
        } else {
            ""
        };
        self.is_begun |= !text.is_empty();
        self.current.push_str(text);
        format!("{before}{text}")
    }
}

/// Writes chunks to a client.
pub(super) struct ChunkWriter {
    pub(super) run: RunId,
    pub(super) model: String,
    /// In seconds.
    pub(super) created: i64,
    pub(super) with_usage: bool,
}

type Sent = Result<(), Disconnected>;

impl ChunkWriter {
    /// Sends the answer from its first event to its end.
    pub(super) async fn write(
        self,
        sink: EventSink,
        first: ReplyEvent,
        mut pending: PendingReply,
    ) -> Sent {
        let delta = CompletionDelta { role: Some("assistant"), content: Some(String::new()) };
        self.send(&sink, self.chunk(delta, None)).await?;
        let (mut text, mut event) = (StreamedText::default(), first);
        loop {
            match event {
                ReplyEvent::Text { offset, text: more } => {
                    self.send_text(&sink, text.add(offset, &more)).await?;
                }
                ReplyEvent::Break => text.break_off(),
                ReplyEvent::Ended(reply) => return self.finish(&sink, text, &reply).await,
            }
            event = match pending.next().await {
                Ok(event) => event,
                Err(error) => return send_error(&sink, &error.into()).await,
            };
        }
    }

    async fn finish(self, sink: &EventSink, mut text: StreamedText, reply: &AgentAnswer) -> Sent {
        if let Err(error) = answer::check(reply) {
            return send_error(sink, &error).await;
        }
        self.send_text(sink, text.complete(&answer::text(reply))).await?;
        let reason = answer::finish_reason(reply);
        let mut last = self.chunk(CompletionDelta::default(), Some(reason));
        last.ostler = Some(answer::run(reply));
        self.send(sink, last).await?;
        if self.with_usage {
            let mut usage = self.chunk(CompletionDelta::default(), None);
            (usage.choices, usage.usage) = (Vec::new(), Some(answer::usage(reply)));
            self.send(sink, usage).await?;
        }
        sink.send(Event::default().data(DONE)).await
    }

    async fn send_text(&self, sink: &EventSink, text: String) -> Sent {
        if text.is_empty() {
            return Ok(());
        }
        let delta = CompletionDelta { role: None, content: Some(text) };
        self.send(sink, self.chunk(delta, None)).await
    }

    fn chunk(
        &self,
        delta: CompletionDelta,
        finish_reason: Option<CompletionFinish>,
    ) -> CompletionChunk {
        CompletionChunk {
            id: self.run,
            object: "chat.completion.chunk",
            created: self.created,
            model: self.model.clone(),
            choices: vec![CompletionChunkChoice { index: 0, delta, finish_reason }],
            usage: None,
            ostler: None,
        }
    }

    async fn send(&self, sink: &EventSink, chunk: CompletionChunk) -> Sent {
        sink.send(Event::default().data(serde_json::to_string(&chunk).unwrap_or_default())).await
    }
}

/// Ends a stream with an error, which clients raise.
async fn send_error(sink: &EventSink, error: &ChatError) -> Sent {
    let data = serde_json::to_string(&error.to_wire()).unwrap_or_default();
    sink.send(Event::default().data(data)).await
}

#[cfg(test)]
mod tests {
    use super::StreamedText;

    /// K04: a stream has all of the answer, whatever was discarded on the way.
    #[test]
    fn k04_pieces_make_the_whole_text() {
        let mut text = StreamedText::default();
        let mut sent = String::new();
        sent += &text.add(0, "Let me ");
        sent += &text.add(7, "look.");
        text.break_off();
        sent += &text.add(12, "It is");
        // Deltas that were seen, or came too late.
        sent += &text.add(12, "It is");
        sent += &text.add(30, "lost");
        sent += &text.complete("It is 5.");
        assert_eq!(sent, "Let me look.\n\nIt is 5.");
    }

    #[test]
    fn k04_a_text_that_replaces_the_draft_follows_it() {
        let mut text = StreamedText::default();
        let mut sent = text.add(0, "Dra");
        sent += &text.complete("Final.");
        assert_eq!(sent, "Dra\n\nFinal.");
        let mut text = StreamedText::default();
        assert_eq!(text.complete("All at once."), "All at once.");
        let mut text = StreamedText::default();
        let mut sent = text.add(0, "First");
        sent += &text.add(0, "Second");
        sent += &text.complete("Second one.");
        assert_eq!(sent, "First\n\nSecond one.");
    }
}
