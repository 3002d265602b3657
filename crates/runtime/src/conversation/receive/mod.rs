//! Receives messages: turns what a channel delivers into inbox entries.
//!
//! Decides which conversation a message belongs to, stores its files, and recognizes
//! requests of the org's own people. It knows nothing of a channel's wire format and answers
//! nobody. Providers deliver things twice, so everything here is idempotent: a message is
//! accepted once, a file is stored once, and a request carries an idempotency key.
//!
//! | module | what it owns |
//! |---|---|
//! | `commands` | commands that no agent reads: linking an account, leaving a test, switching org |
//! | `entry_point` | how a person enters, and where: as a customer, as an owner, or to test an agent |
//! | `identity` | which user sent a message |
//! | `reply` | replies that are no part of a conversation |
//! | `files` | attachments, fetched within limits and stored with their message |
//! | `groups` | which of the org's bots are in a group |
//! | `poll` | polling Telegram for updates |
//! | [`team_chats`] | requests of the org's own people from their chats |
//! | [`telegram_bots`] | which bots are polled, and which have a webhook |

mod commands;
mod entry_point;
mod files;
mod groups;
mod identity;
mod poll;
mod reply;
pub mod team_chats;
pub mod telegram_bots;

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use ostler_channels::Channels;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::error::{OpenError, ReceiveError};
use ostler_channels::inbound::{InboundContent, InboundMessage, InboundPart, ReceiveOutcome};
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::session::key::{ConversationKey, Peer};
use ostler_store::{AcceptOutcome, OrgBinding, OrgStore, Store, StoreError};
use tokio::sync::Semaphore;

use self::entry_point::EntryPoint;
use self::files::FetchedParts;
use self::reply::reply;
use self::team_chats::TeamRequestHandler;
use crate::channel_binding::binding_config;
use crate::deps::Clock;
use crate::inbox::Intake;
use crate::org_view::{OrgView, OrgViews};
use crate::records::entry::{InboxEntry, IncomingMessage, MessageSender};
use crate::shared_bot::shared_binding;

/// The size up to which a request is parsed at once: less than a millisecond of work.
const MAX_INLINE_BYTES: usize = 16 * 1024;
/// How many larger requests are parsed at the same time.
const MAX_PARSERS: usize = 2;

/// What was done with a delivery of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundOutcome {
    /// It is in the inbox of its conversation.
    Accepted(AcceptOutcome),
    /// It was a request of the org's people, which was done or refused with a reply.
    Done,
    /// It was a request that this text answers. It was not sent, because the channel is a web
    /// chat, whose page shows the answer to its own request.
    Replied(String),
    /// It needs no answer, for this reason.
    Ignored(String),
}

/// Why a delivery was not accepted. The provider may deliver it again.
#[derive(Debug, thiserror::Error)]
pub enum InboundError {
    #[error("the binding does not exist or is disabled")]
    NoBinding,
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Receives what channels deliver. Cheap to clone.
#[derive(Clone)]
pub struct InboundReceiver {
    shared: Arc<Shared>,
}

struct Shared {
    org_views: OrgViews,
    intake: Intake,
    channels: Channels,
    team_requests: Arc<dyn TeamRequestHandler>,
    clock: Clock,
    /// Limits how many large requests are parsed at the same time.
    parsers: Semaphore,
}

impl std::fmt::Debug for InboundReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InboundReceiver")
    }
}

/// The binding that something was delivered to.
struct BindingContext<'a> {
    store: OrgStore<'a>,
    org: OrgId,
    bound: &'a OrgBinding,
    connection: &'a ChannelConnection,
    view: Arc<OrgView>,
}

/// Receives the body of one request to a webhook.
#[derive(Debug)]
pub struct WebhookReceiver {
    receiver: InboundReceiver,
    org: OrgId,
    bound: OrgBinding,
    connection: ChannelConnection,
}

impl WebhookReceiver {
    /// Returns the org whose webhook it is.
    pub const fn org(&self) -> OrgId {
        self.org
    }

    /// Receives the request. The channel verifies it.
    pub async fn receive(
        &self,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<InboundOutcome, InboundError> {
        let Self { receiver, org, bound, connection } = self;
        let received = receiver.parse(connection, headers, body).await?;
        Ok(receiver.receive(*org, bound, connection, received).await?)
    }
}

impl InboundReceiver {
    /// Creates a receiver. Requests of the org's people go to `team_requests`.
    pub fn new(
        org_views: OrgViews,
        intake: Intake,
        channels: Channels,
        team_requests: Arc<dyn TeamRequestHandler>,
        clock: Clock,
    ) -> Self {
        let parsers = Semaphore::new(MAX_PARSERS);
        let shared = Shared { org_views, intake, channels, team_requests, clock, parsers };
        Self { shared: Arc::new(shared) }
    }

    /// Returns what accepts messages into the inbox.
    pub fn intake(&self) -> &Intake {
        &self.shared.intake
    }

    /// Receives an HTTP request to a binding's webhook. The channel verifies it.
    pub async fn receive_webhook(
        &self,
        binding: BindingId,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<InboundOutcome, InboundError> {
        self.open_webhook(binding).await?.receive(headers, body).await
    }

    /// Checks a request before its body is read: the binding exists and is enabled, and the
    /// headers can belong to one of its requests.
    pub async fn check_headers(
        &self,
        binding: BindingId,
        headers: &HeaderMap,
    ) -> Result<WebhookReceiver, InboundError> {
        let opened = self.open_webhook(binding).await?;
        opened.connection.check_headers(headers, self.shared.clock.now())?;
        Ok(opened)
    }

    async fn open_webhook(&self, binding: BindingId) -> Result<WebhookReceiver, InboundError> {
        let (org, bound) = self.enabled_binding(binding).await?;
        let connection = self.shared.channels.open(&binding_config(org, &bound))?;
        Ok(WebhookReceiver { receiver: self.clone(), org, bound, connection })
    }

    /// Verifies and parses a request. Large ones are parsed on a thread of their own, a few
    /// at a time, so that they delay nobody else.
    async fn parse(
        &self,
        connection: &ChannelConnection,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<ReceiveOutcome, InboundError> {
        let now = self.shared.clock.now();
        if body.len() <= MAX_INLINE_BYTES {
            return Ok(connection.receive(headers, &body, now)?);
        }
        let _permit = self.shared.parsers.acquire().await;
        let (connection, headers) = (connection.clone(), headers.clone());
        let parsed =
            tokio::task::spawn_blocking(move || connection.receive(&headers, &body, now)).await;
        let failed = |_| InboundError::Receive(ReceiveError::BadBody("it cannot be parsed".into()));
        Ok(parsed.map_err(failed)??)
    }

    /// Returns an enabled binding with its org.
    async fn enabled_binding(&self, id: BindingId) -> Result<(OrgId, OrgBinding), InboundError> {
        match self.store().binding(id).await {
            Ok((org, bound)) if bound.binding.enabled => Ok((org, bound)),
            Ok(_) | Err(StoreError::NotFound(_)) => Err(InboundError::NoBinding),
            Err(other) => Err(other.into()),
        }
    }

    /// Receives a delivery that the channel has verified and parsed.
    pub async fn receive(
        &self,
        org: OrgId,
        bound: &OrgBinding,
        connection: &ChannelConnection,
        received: ReceiveOutcome,
    ) -> Result<InboundOutcome, StoreError> {
        let inbound = match received {
            ReceiveOutcome::Message(inbound) => *inbound,
            ReceiveOutcome::Ignored(why) => return Ok(InboundOutcome::Ignored(why.to_string())),
        };
        let view = self.view(org).await?;
        let context = BindingContext { store: self.store().org(org), org, bound, connection, view };
        if let Some(outcome) = self.receive_from_team(&context, &inbound).await? {
            return Ok(outcome);
        }
        match &inbound.peer {
            Peer::Person(_) => self.receive_from_person(&context, inbound).await,
            Peer::Group(chat) => {
                let chat = chat.clone();
                self.receive_from_group(&context, inbound, &chat).await
            }
        }
    }

    fn store(&self) -> &Store {
        self.shared.org_views.store()
    }

    async fn view(&self, org: OrgId) -> Result<Arc<OrgView>, StoreError> {
        self.shared.org_views.current(org).await
    }

    async fn receive_from_person(
        &self,
        context: &BindingContext<'_>,
        inbound: InboundMessage,
    ) -> Result<InboundOutcome, StoreError> {
        if let Some(outcome) = self.receive_command(context, &inbound).await? {
            return Ok(outcome);
        }
        let entry_point = match self.entry_point(context, &inbound).await? {
            Ok(entry_point) => entry_point,
            Err(refused) => {
                let now = self.shared.clock.now();
                return Ok(reply(context, &inbound, &refused.to_string(), now).await);
            }
        };
        let id = inbound.id.clone();
        if entry_point.org != context.org {
            return self.receive_for(context, inbound, id, entry_point).await;
        }
        self.accept(context, inbound, id, context.bound.binding.id, entry_point, Vec::new()).await
    }

    /// Receives a message on the platform's bot that is meant for another org.
    async fn receive_for(
        &self,
        context: &BindingContext<'_>,
        inbound: InboundMessage,
        id: String,
        entry_point: EntryPoint,
    ) -> Result<InboundOutcome, StoreError> {
        let org = entry_point.org;
        let (store, view) = (self.store().org(org), self.view(org).await?);
        let Some(bound) = shared_binding(store, &view, &context.bound.binding).await? else {
            let text = format!("Nobody at {} can answer yet.", view.org.name);
            return Ok(reply(context, &inbound, &text, self.shared.clock.now()).await);
        };
        let binding = bound.binding.id;
        let connection = context.connection;
        let context = BindingContext { store, org, bound: &bound, connection, view };
        if let Some(outcome) = self.receive_from_team(&context, &inbound).await? {
            return Ok(outcome);
        }
        self.accept(&context, inbound, id, binding, entry_point, Vec::new()).await
    }

    async fn receive_from_group(
        &self,
        context: &BindingContext<'_>,
        inbound: InboundMessage,
        chat: &str,
    ) -> Result<InboundOutcome, StoreError> {
        if let InboundContent::Membership { member, change } = &inbound.content {
            return groups::update_membership(context, chat, member, *change).await;
        }
        let group = groups::find(context, chat).await?;
        let Some(id) = group.message_key(context.bound, &inbound) else {
            return Ok(InboundOutcome::Ignored("another bot of the org reads this group".into()));
        };
        let (binding, agents) = (group.conversation_binding, group.agents);
        let entry_point = EntryPoint::customer(context.org);
        self.accept(context, inbound, id, binding, entry_point, agents).await
    }

    /// Accepts a message into its conversation.
    async fn accept(
        &self,
        context: &BindingContext<'_>,
        inbound: InboundMessage,
        id: String,
        binding: BindingId,
        entry_point: EntryPoint,
        group_agents: Vec<AgentId>,
    ) -> Result<InboundOutcome, StoreError> {
        let InboundMessage { from, peer, message_id, email_thread, content, .. } = inbound;
        let parts = match content {
            InboundContent::Message(parts) => parts,
            InboundContent::Command { name, payload } => {
                vec![InboundPart::Text(command_text(&name, payload))]
            }
            InboundContent::Press { data, callback_id } => {
                answer_press(context.connection, callback_id.as_deref(), "").await;
                vec![InboundPart::Text(data)]
            }
            InboundContent::Membership { .. } => {
                return Ok(InboundOutcome::Ignored("a membership change".into()));
            }
        };
        let fetched = files::fetch_parts(context, binding, &id, parts).await?;
        let message = IncomingMessage {
            parts: Vec::new(),
            from: MessageSender {
                identifier: from.identifier,
                name: from.name,
                locale: from.locale,
                proof: from.proof,
            },
            named_agent: entry_point.agent,
            provider_id: message_id,
            thread: email_thread.map(Box::new),
            group_agents,
            bus_request: None,
            api_request: None,
            notices: Vec::new(),
        };
        let key = ConversationKey { org: context.org, binding, peer, entry: entry_point.entry };
        let with_files = self.add_to_inbox(key.clone(), &id, &message, fetched.clone()).await;
        let accepted = match with_files {
            Err(error @ StoreError::StorageFull { .. }) => {
                tracing::warn!(%error, org = %context.org, "files of a message not stored");
                self.add_to_inbox(key, &id, &message, fetched.without_files()).await
            }
            other => other,
        };
        Ok(InboundOutcome::Accepted(accepted?))
    }

    /// Adds a message and its files to the inbox of a conversation.
    async fn add_to_inbox(
        &self,
        key: ConversationKey,
        id: &str,
        message: &IncomingMessage,
        fetched: FetchedParts,
    ) -> Result<AcceptOutcome, StoreError> {
        let FetchedParts { parts, notices, files } = fetched;
        let entry = InboxEntry::Message(IncomingMessage { parts, notices, ..message.clone() });
        self.shared.intake.accept_with_files(key, id, &entry, files).await
    }
}

/// Returns a command as text. The payload of a deep link is left out: it is meant for the
/// runtime, not for the agent.
fn command_text(name: &str, payload: Option<String>) -> String {
    match payload {
        Some(payload) if name != "start" => format!("/{name} {payload}"),
        _ => format!("/{name}"),
    }
}

/// Acknowledges a button press, so that the button stops waiting. A failure is ignored.
async fn answer_press(connection: &ChannelConnection, callback: Option<&str>, text: &str) {
    let Some(callback) = callback else { return };
    if let Err(error) = connection.answer_button_press(callback, text).await {
        tracing::debug!(%error, "button press not acknowledged");
    }
}
