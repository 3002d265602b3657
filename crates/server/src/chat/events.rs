//! The event stream of a visitor's conversation: first the transcript, then new
//! messages and streamed text, each message once.
//!
//! The id of a message event is a transcript cursor. A page that reconnects sends
//! it back and continues after it; a page without one gets the last messages of
//! the current session. Streamed text has no id; a page that connects in the
//! middle of it gets the draft so far.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event as Sent;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::outbound::{OutboundMessage, TextFormat};
use ostler_channels::webchat::{Visitor, WebchatAuthor, WebchatEvent};
use ostler_domain::id::{AgentId, ConversationId, MessageId, RunId, SessionId};
use ostler_domain::session::key::{ConversationKey, Peer};
use ostler_runtime::deltas::{Delta, DeltaContent};
use ostler_runtime::records::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::records::outgoing::OutgoingMessage;
use ostler_runtime::records::session::{Session, SignUpProgress};
use ostler_store::{
    SessionPhase, StoreError, StoredMessage, Transcript, TranscriptCursor, TranscriptStart,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::cors::{OpenChat, unauthorized};
use crate::body::QueryParams;
use crate::error::Result;
use crate::event_tail::LogSignal;
use crate::events::LAST_EVENT_ID;
use crate::server::{ClientAddress, Server};
use crate::stream::{self, Disconnected, EventSink, StreamHolder};

/// Messages per read, and at the start of a stream.
const BATCH: u32 = 100;
/// Bounds of the delay before a message that is being sent is looked for again.
const MIN_DELAY: Duration = Duration::from_millis(25);
const MAX_DELAY: Duration = Duration::from_secs(1);
/// Poll interval without signals.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// Reconnection delay of the page.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// A ticket for the stream, and the last event that the page has seen. An `EventSource` sends
/// no header, except its own last event when it reconnects by itself.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct StreamQuery {
    ticket: String,
    #[serde(default)]
    after: Option<String>,
}

pub(crate) async fn follow(
    State(server): State<Server>,
    Extension(chat): Extension<OpenChat>,
    Extension(client): Extension<ClientAddress>,
    QueryParams(query): QueryParams<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let visitor = chat.chat().verify_stream_ticket(&query.ticket, server.deps.clock.now());
    let visitor = visitor.map_err(|error| unauthorized(&error))?;
    let key = chat.conversation_key(&server, &visitor).await?;
    // Subscribe before the first read, so that no message is missed.
    let (signals, deltas) = (server.tails.subscribe(key.org), server.deps.deltas.follow());
    let seen = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let seen = seen.or(query.after.as_deref());
    let may_move = server.deps.receiver.shares_its_chat(chat.org).await?;
    let cursor = seen.and_then(parse_cursor);
    let from = match cursor {
        Some(cursor) if !may_move || is_in(&server, &key, cursor).await => {
            TranscriptStart::After(cursor)
        }
        _ => TranscriptStart::Newest,
    };
    let holders = [
        StreamHolder::Visitor(chat.binding, visitor.identifier.clone()),
        StreamHolder::address(client),
        StreamHolder::Org(chat.org),
    ];
    let stream = VisitorStream {
        server: server.clone(),
        may_move,
        connection: ChannelConnection::Webchat(chat.chat().clone()),
        chat,
        visitor,
        key,
        from,
        conversation: None,
        session: None,
        ended: None,
        names: HashMap::new(),
        draft: None,
        last_shown_run: None,
        run_finished: false,
        poll_delay: MIN_DELAY,
    };
    let revoked = std::future::pending();
    stream::open(&server, holders, revoked, |sink| stream.follow(sink, signals, deltas))
}

/// Returns whether a cursor is of a conversation, and not of another one that the visitor had
/// before.
async fn is_in(server: &Server, key: &ConversationKey, cursor: TranscriptCursor) -> bool {
    let stored = server.deps.store.org(key.org).session(cursor.session).await;
    let session = stored.ok().and_then(|one| serde_json::from_str::<Session>(&one.data).ok());
    session.is_some_and(|one| {
        (one.binding, one.entry, &one.peer) == (key.binding, key.entry, &key.peer)
    })
}

/// Parses an event id: `ses_….12`.
fn parse_cursor(text: &str) -> Option<TranscriptCursor> {
    let (session, seq) = text.split_once('.')?;
    Some(TranscriptCursor { session: session.parse().ok()?, seq: seq.parse().ok()? })
}

fn format_cursor(cursor: TranscriptCursor) -> String {
    format!("{}.{}", cursor.session, cursor.seq)
}

/// The draft that the page shows.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ShownDraft {
    run: RunId,
    agent: AgentId,
    attempt: u32,
    /// Bytes sent so far.
    length: usize,
}

/// The event stream of one open page.
struct VisitorStream {
    server: Server,
    connection: ChannelConnection,
    chat: OpenChat,
    visitor: Visitor,
    key: ConversationKey,
    /// Whether the visitor may get another conversation on this chat.
    may_move: bool,
    from: TranscriptStart,
    /// Set once the conversation exists.
    conversation: Option<ConversationId>,
    /// The current session.
    session: Option<SessionId>,
    /// The session whose end was sent.
    ended: Option<SessionId>,
    names: HashMap<AgentId, Option<String>>,
    draft: Option<ShownDraft>,
    /// The run whose messages were sent last; its deltas are obsolete.
    last_shown_run: Option<RunId>,
    /// Whether a run has finished whose messages are not all sent yet.
    run_finished: bool,
    poll_delay: Duration,
}

impl VisitorStream {
    async fn follow(
        mut self,
        sink: EventSink,
        mut signals: Receiver<LogSignal>,
        mut deltas: Receiver<Delta>,
    ) -> std::result::Result<(), Disconnected> {
        sink.send(Sent::default().retry(RECONNECT_DELAY).comment("here")).await?;
        let mut next_poll = Instant::now() + self.send_new_messages(&sink).await?;
        self.send_drafts(&sink).await?;
        loop {
            loop {
                tokio::select! {
                    signal = signals.recv() => match signal {
                        Ok(LogSignal::Session(session)) if self.session.is_some_and(|own| own != session) => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return Ok(()),
                    },
                    delta = deltas.recv() => match delta {
                        Ok(delta) if !self.is_mine(&delta).await => {}
                        Ok(Delta { content: DeltaContent::Over, .. }) => {
                            self.run_finished = true;
                            break;
                        }
                        Ok(delta) => self.send_delta(&sink, delta).await?,
                        // Deltas were missed: send the drafts again.
                        Err(RecvError::Lagged(_)) => {
                            self.discard_draft(&sink).await?;
                            self.send_drafts(&sink).await?;
                        }
                        Err(RecvError::Closed) => return Ok(()),
                    },
                    () = tokio::time::sleep_until(next_poll) => break,
                }
            }
            let has_moved = self.may_move && self.has_moved().await;
            let wait = self.send_new_messages(&sink).await?;
            if has_moved && wait == POLL_INTERVAL {
                // The page opens a stream of the other conversation.
                return Ok(());
            }
            next_poll = Instant::now() + wait;
        }
    }

    /// Returns whether the visitor has another conversation now, because they have signed up
    /// and reach their own org, or have switched to another. While a sign-up is not committed,
    /// its answer is still to come.
    async fn has_moved(&self) -> bool {
        let key = self.chat.conversation_key(&self.server, &self.visitor).await;
        if !key.is_ok_and(|key| key != self.key) {
            return false;
        }
        let Some(session) = self.session else { return true };
        let stored = self.server.deps.store.org(self.key.org).session(session).await;
        let session = stored.ok().and_then(|one| serde_json::from_str::<Session>(&one.data).ok());
        let interview = session.and_then(|session| session.interview);
        interview.is_none_or(|one| one.sign_up != Some(SignUpProgress::Asking))
    }

    /// Sends the drafts of this conversation so far.
    async fn send_drafts(&mut self, sink: &EventSink) -> std::result::Result<(), Disconnected> {
        for draft in self.server.deps.deltas.drafts(self.key.org) {
            if self.is_mine(&draft).await {
                self.send_delta(sink, draft).await?;
            }
        }
        Ok(())
    }

    /// Returns whether a delta belongs to this conversation, which may be new, and to
    /// a run whose messages are not sent yet.
    async fn is_mine(&mut self, delta: &Delta) -> bool {
        if delta.org != self.key.org || self.last_shown_run == Some(delta.run) {
            return false;
        }
        if self.conversation.is_none() {
            let store = self.server.deps.store.org(self.key.org);
            let transcript = store.transcript(&self.key, TranscriptStart::Newest, 0).await;
            self.conversation = transcript.ok().flatten().map(|transcript| transcript.conversation);
        }
        self.conversation == Some(delta.conversation)
    }

    /// Sends new messages and returns the delay before the next read.
    async fn send_new_messages(
        &mut self,
        sink: &EventSink,
    ) -> std::result::Result<Duration, Disconnected> {
        loop {
            let store = self.server.deps.store.org(self.key.org);
            let transcript = match store.transcript(&self.key, self.from, BATCH).await {
                Ok(Some(transcript)) => transcript,
                Ok(None) => return Ok(POLL_INTERVAL),
                Err(error) => {
                    tracing::warn!(%error, org = %self.key.org, "transcript not read, will retry");
                    return Ok(POLL_INTERVAL);
                }
            };
            self.conversation = Some(transcript.conversation);
            self.session = transcript.session.map(|(id, _)| id);
            let unsent = message_ids(&transcript.unsent);
            let withdrawn = message_ids(&transcript.withdrawn);
            let full = transcript.messages.len() >= BATCH as usize;
            for (cursor, message) in &transcript.messages {
                if unsent.contains(&message.id) {
                    let wait = self.poll_delay;
                    self.poll_delay = MAX_DELAY.min(wait * 2);
                    return Ok(wait);
                }
                self.poll_delay = MIN_DELAY;
                if !withdrawn.contains(&message.id) {
                    self.send_message(sink, *cursor, message).await?;
                }
                self.from = TranscriptStart::After(*cursor);
            }
            if let (TranscriptStart::Newest, Some(session)) = (self.from, self.session) {
                self.from = TranscriptStart::After(TranscriptCursor { session, seq: 0 });
            } else if full {
                continue;
            }
            self.send_status(sink, &transcript).await?;
            return Ok(POLL_INTERVAL);
        }
    }

    /// Sends the end of typing and of the session once all messages are sent.
    async fn send_status(
        &mut self,
        sink: &EventSink,
        transcript: &Transcript,
    ) -> std::result::Result<(), Disconnected> {
        if std::mem::take(&mut self.run_finished) {
            self.draft = None;
            self.send(sink, &WebchatEvent::Typing { on: false }).await?;
        }
        if let Some((session, SessionPhase::Closed)) = transcript.session
            && self.ended != Some(session)
        {
            self.ended = Some(session);
            self.send(sink, &WebchatEvent::Ended).await?;
        }
        Ok(())
    }

    /// Sends a message of the thread.
    async fn send_message(
        &mut self,
        sink: &EventSink,
        cursor: TranscriptCursor,
        stored: &StoredMessage,
    ) -> std::result::Result<(), Disconnected> {
        let message: ThreadMessage = match serde_json::from_str(&stored.data) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, message = %stored.id, "stored message not readable");
                return Ok(());
            }
        };
        let speaker = self.speaker(&message).await;
        if speaker.0 != WebchatAuthor::Visitor {
            (self.draft, self.last_shown_run) = (None, message.run);
        }
        let (Peer::Person(to) | Peer::Group(to)) = &self.key.peer;
        let outbound = OutboundMessage {
            to: to.clone(),
            parts: message.parts,
            text_format: text_format(&message.author),
            buttons: Vec::new(),
            reply_to: None,
            email_thread: None,
        };
        let now = self.server.deps.clock.now();
        let url = |file: &ostler_domain::message::Attachment| {
            let ticket = self.chat.chat().file_ticket(&self.visitor, file.blob, now);
            format!("{}/files/{}?ticket={ticket}", self.chat.url, file.blob)
        };
        // The web chat takes a message in one piece; an empty message has none.
        for piece in self.connection.pieces(&outbound) {
            let id = stored.id.to_string();
            let event = WebchatEvent::from_piece(&piece, id, speaker.clone(), message.at, url);
            sink.send(to_sse(&event).id(format_cursor(cursor))).await?;
        }
        Ok(())
    }

    async fn speaker(&mut self, message: &ThreadMessage) -> (WebchatAuthor, Option<String>) {
        match &message.author {
            MessageAuthor::Customer { name } => (WebchatAuthor::Visitor, name.clone()),
            MessageAuthor::Agent { id } => (WebchatAuthor::Agent, self.name(*id).await),
            MessageAuthor::Human { .. } => (WebchatAuthor::Person, None),
            MessageAuthor::System if message.purpose == Purpose::Talk => {
                (WebchatAuthor::Agent, None)
            }
            MessageAuthor::System => (WebchatAuthor::Notice, None),
        }
    }

    /// Returns an agent's display name.
    async fn name(&mut self, id: AgentId) -> Option<String> {
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let name = match self.server.deps.store.org(self.key.org).agent(id).await {
            Ok(agent) => Some(agent.display_name),
            Err(StoreError::NotFound(_)) => None,
            // Not cached: the next message tries again.
            Err(_) => return None,
        };
        self.names.insert(id, name.clone());
        name
    }

    /// Sends streamed text. Tool calls are not shown to visitors.
    async fn send_delta(
        &mut self,
        sink: &EventSink,
        delta: Delta,
    ) -> std::result::Result<(), Disconnected> {
        match delta.content {
            DeltaContent::Text { offset, text } => {
                let Delta { run, agent, attempt, .. } = delta;
                let same = |draft: &ShownDraft| {
                    (draft.run, draft.agent, draft.attempt) == (run, agent, attempt)
                };
                // A delta that does not continue the draft was sent already or cannot be.
                if self.draft.filter(same).map_or(0, |draft| draft.length) != offset {
                    return Ok(());
                }
                let length = offset + text.len();
                self.draft = Some(ShownDraft { run, agent, attempt, length });
                self.send(sink, &WebchatEvent::Delta { offset, text }).await
            }
            DeltaContent::DraftDiscarded => self.discard_draft(sink).await,
            DeltaContent::Calling { .. } => {
                self.send(sink, &WebchatEvent::Typing { on: true }).await
            }
            DeltaContent::Over => Ok(()),
        }
    }

    async fn discard_draft(&mut self, sink: &EventSink) -> std::result::Result<(), Disconnected> {
        match self.draft.take() {
            Some(_) => self.send(sink, &WebchatEvent::DraftDiscarded).await,
            None => Ok(()),
        }
    }

    async fn send(
        &self,
        sink: &EventSink,
        event: &WebchatEvent,
    ) -> std::result::Result<(), Disconnected> {
        sink.send(to_sse(event)).await
    }
}

/// Returns the messages that outbox entries carry.
fn message_ids(payloads: &[String]) -> HashSet<MessageId> {
    let read = |payload: &String| serde_json::from_str::<OutgoingMessage>(payload).ok()?.message;
    payloads.iter().filter_map(read).collect()
}

/// Agents write Markdown; what people write is shown verbatim.
const fn text_format(author: &MessageAuthor) -> TextFormat {
    match author {
        MessageAuthor::Agent { .. } | MessageAuthor::System => TextFormat::Markdown,
        MessageAuthor::Customer { .. } | MessageAuthor::Human { .. } => TextFormat::Verbatim,
    }
}

fn to_sse(event: &WebchatEvent) -> Sent {
    Sent::default().data(serde_json::to_string(event).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{format_cursor, parse_cursor};
    use ostler_domain::id::SessionId;
    use ostler_store::TranscriptCursor;

    #[test]
    fn cursor_round_trips_and_bad_input_is_rejected() {
        let cursor = TranscriptCursor { session: SessionId::from_u128(7), seq: 12 };
        assert_eq!(parse_cursor(&format_cursor(cursor)), Some(cursor));
        for bad in ["", ".", "12", "ses_1.2", "ses_00000000000000000000000007.x"] {
            assert_eq!(parse_cursor(bad), None, "{bad}");
        }
    }
}
