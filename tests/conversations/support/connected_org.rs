//! An org on channels: delivery, webhooks, and people in their chats.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use ostler_channels::connection::ChannelConnection;
use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_channels::{BindingConfig, Channels, HttpLimits, NetworkAccess};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OutboxId, RunId, SessionId, ThreadId};
use ostler_domain::message::MessagePart;
use ostler_domain::retry::RetryPolicy;
use ostler_domain::secret::SecretRef;
use ostler_domain::session::key::Peer;
use ostler_runtime::conversation::receive::team_chats::{
    TeamRequest, TeamRequestError, TeamRequestFuture, TeamRequestHandler, TeamRequestResult,
};
use ostler_runtime::conversation::receive::{InboundError, InboundOutcome, InboundReceiver};
use ostler_runtime::delivery::{DeliveryOptions, DeliveryWorker};
use ostler_runtime::deps::{Clock, Settings};
use ostler_runtime::records::outgoing::OutgoingMessage;
use ostler_store::{
    Author, LeaseAction, NewOutboxEntry, NewRun, OrgBinding, OutboxState, SessionState, TurnCommit,
    TurnSideEffects,
};
use serde_json::{Value, json};

use super::{GIA, ORG, Scenario};
use crate::fake_server::{Reply, Server};
use crate::real_servers::TOKEN;

/// A Telegram bot.
pub(crate) const BOT: BindingId = BindingId::from_u128(0xb07);
/// A gateway for text messages.
pub(crate) const SMS: BindingId = BindingId::from_u128(0x535);
/// A mailbox.
pub(crate) const MAIL: BindingId = BindingId::from_u128(0x3a11);

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Records what people in the team chats request, each request once.
#[derive(Default)]
pub(crate) struct TeamRequestLog {
    done: Mutex<Vec<String>>,
    seen: Mutex<HashSet<String>>,
    refusal: Mutex<Option<String>>,
}

impl TeamRequestLog {
    /// Returns the accepted requests as texts.
    pub(crate) fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    /// Refuses all later requests.
    pub(crate) fn refuse(&self, why: &str) {
        *self.refusal.lock().unwrap() = Some(why.to_owned());
    }

    fn record<'a>(&'a self, request: &'a TeamRequest, what: &str) -> TeamRequestFuture<'a> {
        let done = match self.refusal.lock().unwrap().clone() {
            Some(why) => Err(TeamRequestError::Refused(why)),
            None => Ok(TeamRequestResult::default()),
        };
        if done.is_ok() && self.seen.lock().unwrap().insert(request.idempotency_key.clone()) {
            let name = request.by.name.as_deref().unwrap_or("somebody");
            self.done.lock().unwrap().push(format!("{name} {what} {}", request.session));
        }
        Box::pin(std::future::ready(done))
    }
}

impl TeamRequestHandler for TeamRequestLog {
    fn take_over<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a> {
        self.record(request, "takes over")
    }

    fn human_message<'a>(
        &'a self,
        request: &'a TeamRequest,
        parts: Vec<MessagePart>,
    ) -> TeamRequestFuture<'a> {
        let words: Vec<String> = parts
            .iter()
            .map(|part| match part {
                MessagePart::Text { text } => text.clone(),
                other => format!("{other:?}"),
            })
            .collect();
        self.record(request, &format!("says \"{}\" in", words.join(" ")))
    }

    fn resume<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a> {
        self.record(request, "resumes")
    }

    fn dismiss<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a> {
        self.record(request, "dismisses")
    }
}

/// An org on channels: the scenario, its delivery worker and its receiver of webhooks.
pub(crate) struct ConnectedOrg {
    pub(crate) scenario: Scenario,
    pub(crate) delivery: DeliveryWorker,
    pub(crate) receiver: InboundReceiver,
    pub(crate) team_requests: Arc<TeamRequestLog>,
    pub(crate) channels: Channels,
}

/// Returns options with short waits, without holding messages before they are dead letters.
pub(crate) fn delivery_options() -> DeliveryOptions {
    let wait = Duration::from_millis(1);
    let retries = RetryPolicy { initial_wait: wait, max_wait: wait, ..RetryPolicy::DEAD_LETTER };
    DeliveryOptions {
        claim_timeout: Duration::from_secs(30),
        max_hold: Duration::ZERO,
        dead_letter_retries: retries,
        ..DeliveryOptions::default()
    }
}

impl ConnectedOrg {
    pub(crate) async fn new(script: &str) -> Self {
        Self::of(Scenario::new(script).await, delivery_options())
    }

    pub(crate) fn of(scenario: Scenario, options: DeliveryOptions) -> Self {
        Self::within(scenario, options, Duration::from_millis(700))
    }

    /// Like `of`, with a timeout for each send.
    pub(crate) fn within(scenario: Scenario, options: DeliveryOptions, send: Duration) -> Self {
        let limits = HttpLimits { send_timeout: send, ..HttpLimits::default() };
        let channels = Channels::new(limits, NetworkAccess::Unrestricted, |_, at| match at {
            SecretRef::Env(name) if name == "TOKEN" => Ok(ChannelSecret::new(TOKEN)),
            SecretRef::Env(name) if name == "KEY" => Ok(ChannelSecret::new(KEY)),
            SecretRef::Env(name) if name == "PASSWORD" => Ok(ChannelSecret::new("hunter2")),
            other => Err(format!("{other} is not set")),
        })
        .unwrap();
        let (store, clock) = (scenario.store.clone(), Clock::system());
        let bell = scenario.worker.outbox_bell().clone();
        let delivery = DeliveryWorker::new(store, channels.clone(), clock.clone(), options, bell);
        let team_requests = Arc::new(TeamRequestLog::default());
        let receiver = InboundReceiver::new(
            scenario.worker.org_views().clone(),
            scenario.intake.clone(),
            channels.clone(),
            team_requests.clone(),
            clock,
        );
        Self { scenario, delivery, receiver, team_requests, channels }
    }

    /// Saves a binding with its secret.
    pub(crate) async fn bind(
        &self,
        id: BindingId,
        channel: &str,
        agent: AgentId,
        priority: u32,
        settings: &Value,
    ) {
        let channel = Channel::from(channel);
        let secret = match channel {
            Channel::Telegram => "TOKEN",
            Channel::Email => "PASSWORD",
            _ => "KEY",
        };
        let bound = OrgBinding {
            binding: Binding { id, name: String::new(), channel, enabled: true, priority },
            agent,
            settings: settings.to_string(),
            secret: Some(SecretRef::Env(secret.into())),
        };
        self.scenario.org().save_binding(bound).await.unwrap();
    }

    /// Binds a bot whose provider gives these replies.
    pub(crate) async fn bot(&self, replies: impl IntoIterator<Item = Reply>) -> Server {
        let server = Server::start(replies).await;
        self.bind(BOT, "telegram", GIA, 1, &json!({"base_url": server.url})).await;
        server
    }

    /// Binds an SMS gateway that gives these replies.
    pub(crate) async fn sms(&self, replies: impl IntoIterator<Item = Reply>) -> Server {
        let server = Server::start(replies).await;
        self.gateway_at(&server).await;
        server
    }

    /// Binds a server as the SMS gateway.
    pub(crate) async fn gateway_at(&self, server: &Server) {
        self.bind(SMS, "sms", GIA, 1, &json!({"url": server.url, "proven_senders": true})).await;
    }

    /// Puts a message for a person into the outbox.
    pub(crate) async fn queue_message(
        &self,
        to: &str,
        binding: BindingId,
        author: Author,
        parts: Vec<MessagePart>,
    ) -> OutboxId {
        let outgoing = OutgoingMessage {
            binding,
            to: Peer::Person(to.into()),
            parts,
            buttons: Vec::new(),
            agent: None,
            message: None,
            reply_to: None,
            thread: None,
            plain_text: false,
            bus_request: None,
        };
        self.scenario.write(to, "hi").await;
        let store = &self.scenario.store;
        let claims = Settings::default().claims;
        let claimed = store.claim_conversation(claims).await.unwrap().unwrap();
        let id = OutboxId::from_u128(next_id());
        let session = SessionState {
            id: SessionId::from_u128(next_id()),
            thread: ThreadId::from_u128(next_id()),
            status: "active".into(),
            data: "{}".into(),
        };
        let payload = serde_json::to_string(&outgoing).unwrap();
        let commit = TurnCommit {
            lease: claimed.lease,
            start_epoch: claimed.lease.epoch(),
            read_epoch: claimed.lease.epoch(),
            session,
            run: NewRun { id: RunId::from_u128(next_id()), data: "{}".into(), harness: None },
            messages: Vec::new(),
            charges: Vec::new(),
            outbox: vec![NewOutboxEntry { id, binding: Some(binding), author, payload }],
            events: Vec::new(),
            changes: Vec::new(),
            side_effects: TurnSideEffects::default(),
            answered: claimed.messages.iter().map(|message| message.id).collect(),
            has_checkpoint: false,
            lease_action: LeaseAction::Release,
        };
        store.commit_turn(&commit).await.unwrap();
        id
    }

    /// Sends all due messages.
    pub(crate) async fn deliver(&self) {
        while self.delivery.send_next().await.unwrap() {}
    }

    /// Sends until a message is in this state. Panics after about 12 seconds.
    pub(crate) async fn deliver_until(&self, id: OutboxId, state: OutboxState) {
        for _ in 0..600 {
            self.deliver().await;
            if self.state(id).await == state {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the message is {:?}, not {state:?}", self.state(id).await);
    }

    pub(crate) async fn state(&self, id: OutboxId) -> OutboxState {
        self.scenario.org().outbox_state(id).await.unwrap()
    }

    /// Answers all waiting messages and sends the replies.
    pub(crate) async fn work(&self) {
        self.scenario.work().await;
        self.deliver().await;
    }

    /// Receives a signed webhook with this message id.
    pub(crate) async fn receive_webhook(
        &self,
        binding: BindingId,
        id: &str,
        body: &Value,
    ) -> InboundOutcome {
        let body = body.to_string();
        let keys = SigningKeys::parse(&ChannelSecret::new(KEY)).unwrap();
        let signed = keys.sign(id, Clock::system().now(), body.as_bytes());
        let pair = |(name, value): (&'static str, String)| {
            (HeaderName::from_static(name), HeaderValue::from_str(&value).unwrap())
        };
        let headers: HeaderMap = signed.into_iter().map(pair).collect();
        self.receiver.receive_webhook(binding, &headers, body.into()).await.unwrap()
    }

    /// Returns the header with the secret that a bot gave Telegram in `setWebhook`.
    pub(crate) async fn telegram_headers(&self, binding: BindingId) -> HeaderMap {
        let server = Server::start([Reply::json(200, &json!({"ok": true, "result": true}))]).await;
        let config = BindingConfig {
            org: ORG,
            binding: Binding {
                id: binding,
                name: String::new(),
                channel: Channel::Telegram,
                enabled: true,
                priority: 1,
            },
            settings: json!({"base_url": server.url}).to_string(),
            secret: Some(SecretRef::Env("TOKEN".into())),
        };
        let ChannelConnection::Telegram(bot) = self.channels.open(&config).unwrap() else {
            panic!()
        };
        bot.set_webhook("https://ostler.example/hook").await.unwrap();
        let secret = server.seen()[0].json()["secret_token"].as_str().unwrap().to_owned();
        let name = HeaderName::from_static("x-telegram-bot-api-secret-token");
        [(name, secret.parse::<HeaderValue>().unwrap())].into_iter().collect()
    }

    /// Receives an update from Telegram.
    pub(crate) async fn update(&self, binding: BindingId, update: &Value) -> InboundOutcome {
        let headers = self.telegram_headers(binding).await;
        self.receive_update(binding, &headers, update).await.unwrap()
    }

    /// Receives an update with these headers.
    pub(crate) async fn receive_update(
        &self,
        binding: BindingId,
        headers: &HeaderMap,
        update: &Value,
    ) -> Result<InboundOutcome, InboundError> {
        self.receiver.receive_webhook(binding, headers, update.to_string().into()).await
    }
}

/// Returns Telegram's reply to a sent message.
pub(crate) fn sent_message(message: i64) -> Reply {
    Reply::json(200, &json!({"ok": true, "result": {"message_id": message}}))
}

/// Returns an update with a message of a person to a bot.
pub(crate) fn telegram_message(update: i64, who: i64, text: &str) -> Value {
    json!({"update_id": update, "message": {"message_id": update * 10, "date": 1, "text": text,
        "from": {"id": who, "is_bot": false, "first_name": "Rosa"},
        "chat": {"id": who, "type": "private"}}})
}

/// Returns an unused id.
fn next_id() -> u128 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    (0x0192_u128 << 112) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}
