//! A visitor's own conversation, as it goes on: first what was said, then what
//! is being written and what is said, each message once.
//!
//! The id of a message's event is its place. A page that reconnects sends it
//! back and goes on behind it; a page that comes without one gets the last
//! messages of the present session. What is being written has no id; a page that
//! comes in the middle of it gets what was written so far.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event as Sent;
use ostler_channels::connection::Connection;
use ostler_channels::outbound::{Outbound, Writing};
use ostler_channels::webchat::{Event, Speaker};
use ostler_domain::id::{AgentId, ConversationId, MessageId, RunId, SessionId};
use ostler_domain::session::key::{ConversationKey, Peer};
use ostler_runtime::deltas::{Delta, Piece};
use ostler_runtime::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::talk::outgoing::Outgoing;
use ostler_store::{ReadFrom, SessionEnd, StoreError, StoredMessage, TalkPlace, Told};
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::door::Door;
use crate::body::Asked;
use crate::events::LAST_EVENT_ID;
use crate::refused::Result;
use crate::server::Server;
use crate::stream::{self, Gone, Pipe};
use crate::tail::Ring;

/// The most messages that are read at once, and that a page begins with.
const AT_ONCE: u32 = 100;
/// When it looks again for what is being sent: soon, and later the longer that
/// takes.
const SOON: Duration = Duration::from_millis(25);
const SLOWLY: Duration = Duration::from_secs(1);
/// When it looks again though nobody rang.
const LATE: Duration = Duration::from_secs(10);
/// How long a page waits before it reconnects.
const RETRY: Duration = Duration::from_secs(2);

/// Who asks. A page's event source can send no header.
#[derive(Deserialize)]
pub(crate) struct Shown {
    token: String,
}

pub(crate) async fn follow(
    State(server): State<Server>,
    Extension(door): Extension<Door>,
    Asked(shown): Asked<Shown>,
    headers: HeaderMap,
) -> Result<Response> {
    let key = door.visitor(&shown.token, server.parts.clock.now())?;
    // Before the first look, so that nothing falls between.
    let (rings, deltas) = (server.tails.follow(door.org), server.parts.deltas.follow());
    let seen = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let from = seen.and_then(read_place).map_or(ReadFrom::Newest, ReadFrom::Behind);
    let page = Page {
        server: server.clone(),
        connection: Connection::Webchat(door.chat().clone()),
        files: format!("/chat/{}/files", door.binding),
        token: shown.token,
        key,
        from,
        conversation: None,
        session: None,
        ended: None,
        names: HashMap::new(),
        draft: None,
        told_of: None,
        over: false,
        wait: SOON,
    };
    stream::open(&server, |pipe| page.follow(pipe, rings, deltas))
}

/// A place as a page sends it back: `ses_….12`.
fn read_place(text: &str) -> Option<TalkPlace> {
    let (session, seq) = text.split_once('.')?;
    Some(TalkPlace { session: session.parse().ok()?, seq: seq.parse().ok()? })
}

fn write_place(place: TalkPlace) -> String {
    format!("{}.{}", place.session, place.seq)
}

/// A draft that a page shows.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Draft {
    run: RunId,
    agent: AgentId,
    attempt: u32,
    /// How many bytes of it are shown.
    length: usize,
}

/// A page that is open.
struct Page {
    server: Server,
    connection: Connection,
    files: String,
    token: String,
    key: ConversationKey,
    from: ReadFrom,
    /// The conversation, once it has begun.
    conversation: Option<ConversationId>,
    /// The present session, once there is one.
    session: Option<SessionId>,
    /// The session that the page knows to be over.
    ended: Option<SessionId>,
    names: HashMap<AgentId, Option<String>>,
    /// The draft that the page shows.
    draft: Option<Draft>,
    /// The run whose messages were shown last: what it was writing is of no
    /// interest any more.
    told_of: Option<RunId>,
    /// Whether a run is over whose messages are not all shown yet.
    over: bool,
    /// How long it waits for what is being sent.
    wait: Duration,
}

impl Page {
    async fn follow(
        mut self,
        pipe: Pipe,
        mut rings: Receiver<Ring>,
        mut deltas: Receiver<Delta>,
    ) -> std::result::Result<(), Gone> {
        pipe.send(Sent::default().retry(RETRY).comment("here")).await?;
        let mut again = Instant::now() + self.look(&pipe).await?;
        self.show_drafts(&pipe).await?;
        loop {
            loop {
                tokio::select! {
                    ring = rings.recv() => match ring {
                        Ok(Ring::In(session)) if self.session.is_some_and(|one| one != session) => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return Ok(()),
                    },
                    delta = deltas.recv() => match delta {
                        Ok(delta) if !self.is_mine(&delta).await => {}
                        Ok(Delta { piece: Piece::Over, .. }) => {
                            self.over = true;
                            break;
                        }
                        Ok(delta) => self.show(&pipe, delta).await?,
                        // Words are missing: what there is is shown anew.
                        Err(RecvError::Lagged(_)) => {
                            self.discard(&pipe).await?;
                            self.show_drafts(&pipe).await?;
                        }
                        Err(RecvError::Closed) => return Ok(()),
                    },
                    () = tokio::time::sleep_until(again) => break,
                }
            }
            again = Instant::now() + self.look(&pipe).await?;
        }
    }

    /// Shows what is being written in this conversation, as far as it is.
    async fn show_drafts(&mut self, pipe: &Pipe) -> std::result::Result<(), Gone> {
        for draft in self.server.parts.deltas.drafts(self.key.org) {
            if self.is_mine(&draft).await {
                self.show(pipe, draft).await?;
            }
        }
        Ok(())
    }

    /// Whether a piece is of this conversation, which may just have begun, and of
    /// a run whose messages are not shown yet.
    async fn is_mine(&mut self, delta: &Delta) -> bool {
        if delta.org != self.key.org || self.told_of == Some(delta.run) {
            return false;
        }
        if self.conversation.is_none() {
            let store = self.server.parts.store.org(self.key.org);
            let begun = store.told(&self.key, ReadFrom::Newest, 0).await;
            self.conversation = begun.ok().flatten().map(|told| told.conversation);
        }
        self.conversation == Some(delta.conversation)
    }

    /// Shows what there is to read, and says when to look again.
    async fn look(&mut self, pipe: &Pipe) -> std::result::Result<Duration, Gone> {
        loop {
            let store = self.server.parts.store.org(self.key.org);
            let told = match store.told(&self.key, self.from, AT_ONCE).await {
                Ok(Some(told)) => told,
                Ok(None) => return Ok(LATE),
                Err(error) => {
                    tracing::warn!(%error, org = %self.key.org, "a conversation cannot be read now");
                    return Ok(LATE);
                }
            };
            self.conversation = Some(told.conversation);
            self.session = told.session.map(|(id, _)| id);
            let unsent = ids(&told.unsent);
            let withdrawn = ids(&told.withdrawn);
            let full = told.messages.len() >= AT_ONCE as usize;
            for (place, message) in &told.messages {
                if unsent.contains(&message.id) {
                    let wait = self.wait;
                    self.wait = SLOWLY.min(wait * 2);
                    return Ok(wait);
                }
                self.wait = SOON;
                if !withdrawn.contains(&message.id) {
                    self.tell(pipe, *place, message).await?;
                }
                self.from = ReadFrom::Behind(*place);
            }
            if let (ReadFrom::Newest, Some(session)) = (self.from, self.session) {
                self.from = ReadFrom::Behind(TalkPlace { session, seq: 0 });
            } else if full {
                continue;
            }
            self.settle(pipe, &told).await?;
            return Ok(LATE);
        }
    }

    /// All that was said is shown: what else the page should know.
    async fn settle(&mut self, pipe: &Pipe, told: &Told) -> std::result::Result<(), Gone> {
        if std::mem::take(&mut self.over) {
            self.draft = None;
            self.send(pipe, &Event::Typing { on: false }).await?;
        }
        if let Some((session, SessionEnd::Closed)) = told.session
            && self.ended != Some(session)
        {
            self.ended = Some(session);
            self.send(pipe, &Event::Ended).await?;
        }
        Ok(())
    }

    /// Tells the page a message.
    async fn tell(
        &mut self,
        pipe: &Pipe,
        place: TalkPlace,
        stored: &StoredMessage,
    ) -> std::result::Result<(), Gone> {
        let message: ThreadMessage = match serde_json::from_str(&stored.data) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, message = %stored.id, "a message cannot be read");
                return Ok(());
            }
        };
        let speaker = self.speaker(&message).await;
        if speaker.0 != Speaker::Visitor {
            (self.draft, self.told_of) = (None, message.run);
        }
        let (Peer::Person(to) | Peer::Group(to)) = &self.key.peer;
        let outbound = Outbound {
            to: to.clone(),
            parts: message.parts,
            writing: writing(&message.author),
            buttons: Vec::new(),
            reply_to: None,
            thread: None,
        };
        let url = |file: &ostler_domain::message::Attachment| {
            format!("{}/{}?token={}", self.files, file.blob, self.token)
        };
        // A chat takes a message in one piece; one without anything has none.
        for piece in self.connection.pieces(&outbound) {
            let id = stored.id.to_string();
            let event = Event::message(&piece, id, speaker.clone(), message.at, url);
            pipe.send(written(&event).id(write_place(place))).await?;
        }
        Ok(())
    }

    async fn speaker(&mut self, message: &ThreadMessage) -> (Speaker, Option<String>) {
        match &message.author {
            MessageAuthor::Customer { name } => (Speaker::Visitor, name.clone()),
            MessageAuthor::Agent { id } => (Speaker::Agent, self.name(*id).await),
            MessageAuthor::Human { .. } => (Speaker::Person, None),
            MessageAuthor::System if message.purpose == Purpose::Talk => (Speaker::Agent, None),
            MessageAuthor::System => (Speaker::Notice, None),
        }
    }

    /// The name that an agent goes by.
    async fn name(&mut self, id: AgentId) -> Option<String> {
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let name = match self.server.parts.store.org(self.key.org).agent(id).await {
            Ok(agent) => Some(agent.display_name),
            Err(StoreError::NotFound(_)) => None,
            // Next time, perhaps.
            Err(_) => return None,
        };
        self.names.insert(id, name.clone());
        name
    }

    /// Shows a piece of what is being written. Which tools an agent uses is not
    /// for visitors.
    async fn show(&mut self, pipe: &Pipe, delta: Delta) -> std::result::Result<(), Gone> {
        match delta.piece {
            Piece::Text { offset, text } => {
                let Delta { run, agent, attempt, .. } = delta;
                let same = |one: &Draft| (one.run, one.agent, one.attempt) == (run, agent, attempt);
                // What does not follow is shown already, or cannot be.
                if self.draft.filter(same).map_or(0, |one| one.length) != offset {
                    return Ok(());
                }
                let length = offset + text.len();
                self.draft = Some(Draft { run, agent, attempt, length });
                self.send(pipe, &Event::Delta { offset, text }).await
            }
            Piece::DraftDiscarded => self.discard(pipe).await,
            Piece::Calling { .. } => self.send(pipe, &Event::Typing { on: true }).await,
            Piece::Over => Ok(()),
        }
    }

    async fn discard(&mut self, pipe: &Pipe) -> std::result::Result<(), Gone> {
        match self.draft.take() {
            Some(_) => self.send(pipe, &Event::DraftDiscarded).await,
            None => Ok(()),
        }
    }

    async fn send(&self, pipe: &Pipe, event: &Event) -> std::result::Result<(), Gone> {
        pipe.send(written(event)).await
    }
}

/// The messages that rows of the outbox are about.
fn ids(payloads: &[String]) -> HashSet<MessageId> {
    let read = |payload: &String| serde_json::from_str::<Outgoing>(payload).ok()?.message;
    payloads.iter().filter_map(read).collect()
}

/// What agents write is Markdown; what people write is shown as it is.
const fn writing(author: &MessageAuthor) -> Writing {
    match author {
        MessageAuthor::Agent { .. } | MessageAuthor::System => Writing::Markdown,
        MessageAuthor::Customer { .. } | MessageAuthor::Human { .. } => Writing::Verbatim,
    }
}

fn written(event: &Event) -> Sent {
    Sent::default().data(serde_json::to_string(event).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{read_place, write_place};
    use ostler_domain::id::SessionId;
    use ostler_store::TalkPlace;

    #[test]
    fn a_place_is_read_back_and_nonsense_is_none() {
        let place = TalkPlace { session: SessionId::from_u128(7), seq: 12 };
        assert_eq!(read_place(&write_place(place)), Some(place));
        for nonsense in ["", ".", "12", "ses_1.2", "ses_00000000000000000000000007.x"] {
            assert_eq!(read_place(nonsense), None, "{nonsense}");
        }
    }
}
