//! An org that is connected: couriers, a reception, and people in their chats.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use ostler_channels::connection::Connection;
use ostler_channels::secret::Secret;
use ostler_channels::signature::Keys;
use ostler_channels::{BindingConfig, Channels, Limits, Reach};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OutboxId, RunId, SessionId, ThreadId};
use ostler_domain::message::Part;
use ostler_domain::retry::RetryPolicy;
use ostler_domain::secret::SecretRef;
use ostler_domain::session::key::Peer;
use ostler_runtime::delivery::{Courier, SendOptions};
use ostler_runtime::inbound::receive::people::{Doing, NotDone, People, Wish};
use ostler_runtime::inbound::receive::{NotTaken, Reception, Taken};
use ostler_runtime::parts::{Clock, Settings};
use ostler_runtime::talk::outgoing::Outgoing;
use ostler_store::{
    AfterTurn, Aside, Author, NewOutbound, NewRun, OrgBinding, OutboxState, SessionState,
    TurnCommit,
};
use serde_json::{Value, json};

use crate::real::TOKEN;
use crate::server::{Reply, Server};
use crate::world::{GIA, ORG, World};

/// A bot.
pub(crate) const BOT: BindingId = BindingId::from_u128(0xb07);
/// A gateway for text messages.
pub(crate) const SMS: BindingId = BindingId::from_u128(0x535);
/// A mailbox.
pub(crate) const MAIL: BindingId = BindingId::from_u128(0x3a11);

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// What people wished, in words, each wish once.
#[derive(Default)]
pub(crate) struct Wishes {
    done: Mutex<Vec<String>>,
    seen: Mutex<HashSet<String>>,
    refusal: Mutex<Option<String>>,
}

impl Wishes {
    /// All that was done.
    pub(crate) fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    /// Refuses everything from now on.
    pub(crate) fn refuse(&self, why: &str) {
        *self.refusal.lock().unwrap() = Some(why.to_owned());
    }

    fn wish<'a>(&'a self, wish: &'a Wish, what: &str) -> Doing<'a> {
        let done = match self.refusal.lock().unwrap().clone() {
            Some(why) => Err(NotDone::Refused(why)),
            None => Ok(()),
        };
        if done.is_ok() && self.seen.lock().unwrap().insert(wish.once.clone()) {
            let name = wish.by.name.as_deref().unwrap_or("somebody");
            self.done.lock().unwrap().push(format!("{name} {what} {}", wish.session));
        }
        Box::pin(std::future::ready(done))
    }
}

impl People for Wishes {
    fn take_over<'a>(&'a self, wish: &'a Wish) -> Doing<'a> {
        self.wish(wish, "takes over")
    }

    fn human_message<'a>(&'a self, wish: &'a Wish, parts: Vec<Part>) -> Doing<'a> {
        let words: Vec<String> = parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => text.clone(),
                other => format!("{other:?}"),
            })
            .collect();
        self.wish(wish, &format!("says \"{}\" in", words.join(" ")))
    }

    fn resume<'a>(&'a self, wish: &'a Wish) -> Doing<'a> {
        self.wish(wish, "resumes")
    }

    fn dismiss<'a>(&'a self, wish: &'a Wish) -> Doing<'a> {
        self.wish(wish, "dismisses")
    }
}

/// An org that is connected.
pub(crate) struct Exchange {
    pub(crate) world: World,
    pub(crate) courier: Courier,
    pub(crate) reception: Reception,
    pub(crate) wishes: Arc<Wishes>,
    pub(crate) channels: Channels,
}

/// How a test sends: short waits, and the clock of the machine.
pub(crate) fn options() -> SendOptions {
    let wait = Duration::from_millis(1);
    let letters = RetryPolicy { first_wait: wait, longest_wait: wait, ..RetryPolicy::DEAD_LETTER };
    SendOptions { claim: Duration::from_secs(30), letters, ..SendOptions::default() }
}

impl Exchange {
    pub(crate) async fn new(script: &str) -> Self {
        Self::of(World::new(script).await, options())
    }

    pub(crate) fn of(world: World, options: SendOptions) -> Self {
        Self::within(world, options, Duration::from_millis(700))
    }

    /// The same, where a provider may take so long.
    pub(crate) fn within(world: World, options: SendOptions, send: Duration) -> Self {
        let limits = Limits { send, ..Limits::default() };
        let channels = Channels::new(limits, Reach::Anywhere, |_, at| match at {
            SecretRef::Env(name) if name == "TOKEN" => Ok(Secret::new(TOKEN)),
            SecretRef::Env(name) if name == "KEY" => Ok(Secret::new(KEY)),
            SecretRef::Env(name) if name == "PASSWORD" => Ok(Secret::new("hunter2")),
            other => Err(format!("{other} is not set")),
        })
        .unwrap();
        let (store, clock) = (world.store.clone(), Clock::system());
        let bell = world.worker.outbox_bell().clone();
        let courier = Courier::new(store.clone(), channels.clone(), clock.clone(), options, bell);
        let wishes = Arc::new(Wishes::default());
        let reception =
            Reception::new(store, world.intake.clone(), channels.clone(), wishes.clone(), clock);
        Self { world, courier, reception, wishes, channels }
    }

    /// Connects the org.
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
            binding: Binding { id, channel, enabled: true, priority },
            agent,
            settings: settings.to_string(),
            secret: Some(SecretRef::Env(secret.into())),
        };
        self.world.org().save_binding(bound).await.unwrap();
    }

    /// A bot whose provider answers like this.
    pub(crate) async fn bot(&self, replies: impl IntoIterator<Item = Reply>) -> Server {
        let server = Server::start(replies).await;
        self.bind(BOT, "telegram", GIA, 1, &json!({"base_url": server.url})).await;
        server
    }

    /// A gateway for text messages that answers like this.
    pub(crate) async fn sms(&self, replies: impl IntoIterator<Item = Reply>) -> Server {
        let server = Server::start(replies).await;
        self.gateway_at(&server).await;
        server
    }

    /// This is the gateway for text messages.
    pub(crate) async fn gateway_at(&self, server: &Server) {
        self.bind(SMS, "sms", GIA, 1, &json!({"url": server.url})).await;
    }

    /// A message that waits to be sent to somebody.
    pub(crate) async fn post(
        &self,
        to: &str,
        binding: BindingId,
        author: Author,
        parts: Vec<Part>,
    ) -> OutboxId {
        let outgoing = Outgoing {
            binding,
            to: Peer::Person(to.into()),
            parts,
            buttons: Vec::new(),
            message: None,
            answers: None,
            thread: None,
            plain: false,
            asked: None,
        };
        self.world.write(to, "hi").await;
        let store = &self.world.store;
        let claims = Settings::default().claims;
        let claimed = store.claim_conversation(claims).await.unwrap().unwrap();
        let id = OutboxId::from_u128(rand());
        let session = SessionState {
            id: SessionId::from_u128(rand()),
            thread: ThreadId::from_u128(rand()),
            status: "active".into(),
            data: "{}".into(),
        };
        let payload = serde_json::to_string(&outgoing).unwrap();
        let commit = TurnCommit {
            lease: claimed.lease,
            began: claimed.lease.epoch(),
            read: claimed.lease.epoch(),
            session,
            run: NewRun { id: RunId::from_u128(rand()), data: "{}".into() },
            messages: Vec::new(),
            settle: Vec::new(),
            outbox: vec![NewOutbound { id, author, payload }],
            events: Vec::new(),
            changes: Vec::new(),
            aside: Aside::default(),
            answered: claimed.messages.iter().map(|one| one.id).collect(),
            then: AfterTurn::Release,
        };
        store.commit_turn(commit).await.unwrap();
        id
    }

    /// Sends all that is due now.
    pub(crate) async fn deliver(&self) {
        while self.courier.send_next().await.unwrap() {}
    }

    /// Sends until a message is where it should be.
    pub(crate) async fn until(&self, id: OutboxId, state: OutboxState) {
        for _ in 0..600 {
            self.deliver().await;
            if self.state(id).await == state {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it is {:?} and not {state:?}", self.state(id).await);
    }

    pub(crate) async fn state(&self, id: OutboxId) -> OutboxState {
        self.world.org().outbox_state(id).await.unwrap()
    }

    /// Answers all that waits, and sends what comes of it.
    pub(crate) async fn work(&self) {
        self.world.work().await;
        self.deliver().await;
    }

    /// A gateway brings something under an id.
    pub(crate) async fn gateway(&self, binding: BindingId, id: &str, body: &Value) -> Taken {
        let body = body.to_string();
        let keys = Keys::read(&Secret::new(KEY)).unwrap();
        let signed = keys.sign(id, Clock::system().now(), body.as_bytes());
        let pair = |(name, value): (&'static str, String)| {
            (HeaderName::from_static(name), HeaderValue::from_str(&value).unwrap())
        };
        let headers: HeaderMap = signed.into_iter().map(pair).collect();
        self.reception.bring(binding, &headers, body.as_bytes()).await.unwrap()
    }

    /// What Telegram has to show with an update, as it was told once.
    pub(crate) async fn telegram_headers(&self, binding: BindingId) -> HeaderMap {
        let server = Server::start([Reply::json(200, &json!({"ok": true, "result": true}))]).await;
        let config = BindingConfig {
            org: ORG,
            binding: Binding {
                id: binding,
                channel: Channel::Telegram,
                enabled: true,
                priority: 1,
            },
            settings: json!({"base_url": server.url}).to_string(),
            secret: Some(SecretRef::Env("TOKEN".into())),
        };
        let Connection::Telegram(bot) = self.channels.open(&config).unwrap() else { panic!() };
        bot.set_webhook("https://ostler.example/hook").await.unwrap();
        let secret = server.seen()[0].json()["secret_token"].as_str().unwrap().to_owned();
        let name = HeaderName::from_static("x-telegram-bot-api-secret-token");
        [(name, secret.parse::<HeaderValue>().unwrap())].into_iter().collect()
    }

    /// Telegram brings an update.
    pub(crate) async fn update(&self, binding: BindingId, update: &Value) -> Taken {
        let headers = self.telegram_headers(binding).await;
        self.brought(binding, &headers, update).await.unwrap()
    }

    /// The same, with headers that are known.
    pub(crate) async fn brought(
        &self,
        binding: BindingId,
        headers: &HeaderMap,
        update: &Value,
    ) -> Result<Taken, NotTaken> {
        self.reception.bring(binding, headers, update.to_string().as_bytes()).await
    }
}

/// An answer of Telegram's to a message.
pub(crate) fn sent(message: i64) -> Reply {
    Reply::json(200, &json!({"ok": true, "result": {"message_id": message}}))
}

/// Somebody writes to a bot.
pub(crate) fn message(update: i64, who: i64, text: &str) -> Value {
    json!({"update_id": update, "message": {"message_id": update * 10, "date": 1, "text": text,
        "from": {"id": who, "is_bot": false, "first_name": "Rosa"},
        "chat": {"id": who, "type": "private"}}})
}

/// An id that nobody has.
fn rand() -> u128 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    (0x0192_u128 << 112) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}
