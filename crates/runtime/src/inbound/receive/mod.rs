//! From what a channel brings to a row of the inbox: whose conversation it
//! belongs to, what it is made of, and whether it is for the org's own people.
//!
//! Owns nothing of a channel's wire, and answers nobody. Everything here may
//! happen twice, because providers bring things again: a message is accepted
//! once, a file is stored once, and what people want carries a name to be known
//! by.
//!
//! | module | what it owns |
//! |---|---|
//! | `arrival` | how a person came in: a customer, an owner, a test |
//! | [`attend`] | which bots are asked for updates, and which have them brought |
//! | `files` | attachments: fetched within limits, kept once |
//! | `groups` | which of the org's bots are in a group |
//! | [`people`] | what the org's own people do in their chats |
//! | `poll` | asking Telegram for updates |

mod arrival;
pub mod attend;
mod files;
mod groups;
pub mod people;
mod poll;

use std::sync::Arc;

use http::HeaderMap;
use ostler_channels::Channels;
use ostler_channels::connection::Connection;
use ostler_channels::error::{OpenError, ReceiveError};
use ostler_channels::inbound::{Content, Inbound, InboundPart, Received};
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::session::key::{ConversationKey, Peer};
use ostler_store::{Accepted, OrgBinding, OrgStore, Store, StoreError};

use self::arrival::Arrival;
use self::people::People;
use super::accept::Intake;
use crate::delivery::config;
use crate::org_view::{OrgView, Views};
use crate::parts::Clock;
use crate::talk::entry::{Entry, Writer, Wrote};

/// What became of something that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It waits in a conversation.
    Accepted(Accepted),
    /// One of the org's people wanted it done, and it was, or they were told why
    /// not.
    Done,
    /// Nobody answers it.
    Ignored(String),
}

/// Why something that came in was not taken. The provider may bring it again.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// There is no such binding, or it is disabled.
    #[error("there is no such binding here, or it is disabled")]
    NoBinding,
    /// The binding cannot be used as it is.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It is not what the binding takes.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes what channels bring. Cheap to clone.
#[derive(Clone)]
pub struct Reception {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    intake: Intake,
    channels: Channels,
    people: Arc<dyn People>,
    clock: Clock,
    views: Views,
}

impl std::fmt::Debug for Reception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reception")
    }
}

/// Where something came in.
struct Place<'a> {
    here: OrgStore<'a>,
    org: OrgId,
    bound: &'a OrgBinding,
    connection: &'a Connection,
    view: Arc<OrgView>,
}

impl Reception {
    /// Takes what channels bring into a store.
    pub fn new(
        store: Store,
        intake: Intake,
        channels: Channels,
        people: Arc<dyn People>,
        clock: Clock,
    ) -> Self {
        let views = Views::default();
        Self { shared: Arc::new(Shared { store, intake, channels, people, clock, views }) }
    }

    /// Takes a request that somebody brings to a binding: whether they may is
    /// the channel's to check.
    pub async fn bring(
        &self,
        binding: BindingId,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Taken, NotTaken> {
        let (org, bound) = self.binding(binding).await?;
        let connection = self.shared.channels.open(&config(org, &bound))?;
        let received = connection.receive(headers, body, self.shared.clock.now())?;
        Ok(self.take(org, &bound, &connection, received).await?)
    }

    /// A binding that is enabled, and whose it is.
    async fn binding(&self, id: BindingId) -> Result<(OrgId, OrgBinding), NotTaken> {
        match self.shared.store.binding(id).await {
            Ok((org, bound)) if bound.binding.enabled => Ok((org, bound)),
            Ok(_) | Err(StoreError::NotFound(_)) => Err(NotTaken::NoBinding),
            Err(other) => Err(other.into()),
        }
    }

    /// Takes something that was checked and read.
    pub async fn take(
        &self,
        org: OrgId,
        bound: &OrgBinding,
        connection: &Connection,
        received: Received,
    ) -> Result<Taken, StoreError> {
        let inbound = match received {
            Received::Inbound(inbound) => *inbound,
            Received::Ignored(why) => return Ok(Taken::Ignored(why.to_string())),
        };
        let view = self.view(org).await?;
        let place = Place { here: self.shared.store.org(org), org, bound, connection, view };
        if let Some(taken) = self.people_sent(&place, &inbound).await? {
            return Ok(taken);
        }
        match &inbound.peer {
            Peer::Person(_) => self.person_sent(&place, inbound).await,
            Peer::Group(chat) => {
                let chat = chat.clone();
                self.group_sent(&place, inbound, &chat).await
            }
        }
    }

    async fn view(&self, org: OrgId) -> Result<Arc<OrgView>, StoreError> {
        let stamp = self.shared.store.config_stamp().await?;
        self.shared.views.get(&self.shared.store, org, stamp).await
    }

    async fn person_sent(&self, place: &Place<'_>, inbound: Inbound) -> Result<Taken, StoreError> {
        let arrival = self.arrival(place, &inbound).await?;
        let id = inbound.id.clone();
        self.accept(place, inbound, id, place.bound.binding.id, arrival, Vec::new()).await
    }

    async fn group_sent(
        &self,
        place: &Place<'_>,
        inbound: Inbound,
        chat: &str,
    ) -> Result<Taken, StoreError> {
        if let Content::Membership { who, change } = &inbound.content {
            return groups::changed(place, chat, who, *change).await;
        }
        let group = groups::find(place, chat).await?;
        let Some(id) = group.name_of(place.bound, &inbound) else {
            return Ok(Taken::Ignored("another bot of the org reads this group".into()));
        };
        let (home, bound) = (group.home, group.agents);
        self.accept(place, inbound, id, home, Arrival::CUSTOMER, bound).await
    }

    /// Accepts a message into its conversation.
    async fn accept(
        &self,
        place: &Place<'_>,
        inbound: Inbound,
        id: String,
        binding: BindingId,
        arrival: Arrival,
        bound: Vec<ostler_domain::id::AgentId>,
    ) -> Result<Taken, StoreError> {
        let Inbound { from, peer, message, thread, content, .. } = inbound;
        let parts = match content {
            Content::Message(parts) => parts,
            Content::Command { name, payload } => vec![InboundPart::Text(command(&name, payload))],
            Content::Press { data, callback } => {
                let connection = place.connection;
                answer_press(connection, callback.as_deref(), "").await;
                vec![InboundPart::Text(data)]
            }
            Content::Membership { .. } => {
                return Ok(Taken::Ignored("somebody came or went".into()));
            }
        };
        let kept = files::keep(place, binding, &id, parts).await?;
        let entry = Entry::Wrote(Wrote {
            parts: kept.parts,
            from: Writer { identifier: from.identifier, name: from.name, locale: from.locale },
            named_agent: arrival.agent,
            provider_id: message,
            thread: thread.map(Box::new),
            bound,
            asked: None,
            notices: kept.notices,
        });
        let key = ConversationKey { org: place.org, binding, peer, entry: arrival.entry };
        Ok(Taken::Accepted(self.shared.intake.accept(key, &id, &entry).await?))
    }
}

/// A command as words. What a deep link carries is for the runtime and not for
/// whoever answers.
fn command(name: &str, payload: Option<String>) -> String {
    match payload {
        Some(payload) if name != "start" => format!("/{name} {payload}"),
        _ => format!("/{name}"),
    }
}

/// Answers a press, so that the button stops waiting. It is a courtesy.
async fn answer_press(connection: &Connection, callback: Option<&str>, words: &str) {
    let Some(callback) = callback else { return };
    if let Err(error) = connection.answer_press(callback, words).await {
        tracing::debug!(%error, "a press was not answered");
    }
}
