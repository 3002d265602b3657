//! Conversations over HTTP: a running server with workers and delivery workers, clients
//! of the API and pages with a chat.

mod apply;
mod authorization;
mod chat;
mod client;
mod completions;
mod completions_clients;
mod contact_messages;
mod erasure;
mod follow;
mod foreign_people;
mod foreign_requests;
mod hierarchy;
mod hostile;
mod identity_provider;
mod keys;
mod limits;
mod log_in;
mod matrix;
mod mcp;
mod new_keys;
mod operator;
mod queues;
mod resources;
mod schemathesis;
mod sign_up;
mod stream;
mod threads;
mod users;
mod webhooks;

use std::sync::Arc;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::{Channels, HttpLimits, NetworkAccess};
use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, KeyId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::role::Role;
use ostler_domain::secret::{ApiKeySecret, SecretRef};
use ostler_runtime::conversation::receive::InboundReceiver;
use ostler_runtime::conversation::receive::team_chats::{
    TeamRequest, TeamRequestError, TeamRequestFuture, TeamRequestHandler,
};
use ostler_runtime::delivery::{DeliveryOptions, DeliveryWorker};
use ostler_runtime::deps::Clock;
use ostler_server::rate_limits::RateRules;
use ostler_server::{
    ConfigHost, IdentityProvider, QueueBus, Server, ServerDeps, ServerLimits, ThreadOptions,
};
use ostler_store::{NewApiKey, OrgBinding};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::client::Client;

use crate::support::{GIA, ORG, Scenario, WEBCHAT};

const SMS: BindingId = BindingId::from_u128(0xb5);
/// The signing key of the gateway.
const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// The API key of an operator.
const KEY: &str = "osk_an-operator-of-bella-pizza-at-work";

/// Refuses all requests from team chats.
struct RefuseAll;

impl RefuseAll {
    fn refuse<'a>() -> TeamRequestFuture<'a> {
        Box::pin(std::future::ready(Err(TeamRequestError::Refused("nobody is here".into()))))
    }
}

impl TeamRequestHandler for RefuseAll {
    fn take_over<'a>(&'a self, _: &'a TeamRequest) -> TeamRequestFuture<'a> {
        Self::refuse()
    }

    fn human_message<'a>(
        &'a self,
        _: &'a TeamRequest,
        _: Vec<MessagePart>,
    ) -> TeamRequestFuture<'a> {
        Self::refuse()
    }

    fn resume<'a>(&'a self, _: &'a TeamRequest) -> TeamRequestFuture<'a> {
        Self::refuse()
    }

    fn dismiss<'a>(&'a self, _: &'a TeamRequest) -> TeamRequestFuture<'a> {
        Self::refuse()
    }
}

/// Whether replies are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Running,
    Stopped,
}

/// What tests choose of a server. By default its clients may send as much as they like.
struct ServerParts {
    limits: ServerLimits,
    providers: Vec<IdentityProvider>,
}

impl Default for ServerParts {
    fn default() -> Self {
        let limits = ServerLimits { rates: RateRules::UNLIMITED, ..ServerLimits::default() };
        Self { limits, providers: Vec::new() }
    }
}

/// An org with a running server.
struct Online {
    scenario: Scenario,
    channels: Channels,
    base: String,
    http: reqwest::Client,
    queues: QueueBus,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Online {
    async fn new(script: &str) -> Self {
        Self::with(Scenario::new(script).await).await
    }

    async fn with(scenario: Scenario) -> Self {
        let threads = threads::options(&scenario.store, "default: I see.");
        Self::with_threads(scenario, threads).await
    }

    /// Starts a server beside which nobody sends replies.
    async fn without_delivery(script: &str) -> Self {
        let scenario = Scenario::new(script).await;
        let threads = threads::options(&scenario.store, "default: I see.");
        Self::assemble(scenario, threads, Sending::Stopped, ServerParts::default()).await
    }

    async fn with_threads(scenario: Scenario, threads: ThreadOptions) -> Self {
        Self::assemble(scenario, threads, Sending::Running, ServerParts::default()).await
    }

    async fn with_limits(scenario: Scenario, threads: ThreadOptions, limits: ServerLimits) -> Self {
        let parts = ServerParts { limits, ..ServerParts::default() };
        Self::assemble(scenario, threads, Sending::Running, parts).await
    }

    async fn with_identity_providers(
        scenario: Scenario,
        threads: ThreadOptions,
        providers: Vec<IdentityProvider>,
    ) -> Self {
        let parts = ServerParts { providers, ..ServerParts::default() };
        Self::assemble(scenario, threads, Sending::Running, parts).await
    }

    async fn assemble(
        scenario: Scenario,
        threads: ThreadOptions,
        sending: Sending,
        parts: ServerParts,
    ) -> Self {
        bind(&scenario, WEBCHAT, Channel::Webchat, "CHAT", "{}").await;
        bind(&scenario, SMS, Channel::Sms, "KEY", r#"{"url": "http://127.0.0.1:9/"}"#).await;
        key(&scenario, ORG, 1, KEY, Role::Operator).await;
        let channels =
            Channels::new(HttpLimits::default(), NetworkAccess::Unrestricted, |_, at| match at {
                SecretRef::Env(name) if name == "CHAT" => Ok(ChannelSecret::new("c".repeat(40))),
                SecretRef::Env(name) if name == "KEY" => Ok(ChannelSecret::new(WHSEC)),
                other => Err(format!("{other} is not set")),
            });
        let (channels, clock, store) = (channels.unwrap(), Clock::system(), scenario.store.clone());
        let (intake, people) = (scenario.intake.clone(), Arc::new(RefuseAll));
        let org_views = scenario.worker.org_views().clone();
        let receiver =
            InboundReceiver::new(org_views, intake, channels.clone(), people, clock.clone());
        let bell = scenario.worker.outbox_bell().clone();
        let options = DeliveryOptions::default();
        let delivery =
            DeliveryWorker::new(store.clone(), channels.clone(), clock.clone(), options, bell);
        let deltas = scenario.worker.deps().deltas.clone();
        let operations = scenario.operations();
        let queues = QueueBus::default();
        let server = Server::new(ServerDeps {
            store,
            operations,
            receiver,
            channels: channels.clone(),
            deltas,
            clock,
            threads,
            host: ConfigHost(Arc::new(crate::support::TestHost)),
            queues: queues.clone(),
            public_url: None,
        })
        .unwrap()
        .with_limits(parts.limits)
        .with_identity_providers(&parts.providers);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let worker = scenario.worker.clone();
        let (one, two, mut three) = (stopped.clone(), stopped.clone(), stopped);
        running.spawn(async move { worker.run(2, one).await });
        if sending == Sending::Running {
            running.spawn(async move { delivery.run(1, two).await });
        }
        running.spawn(async move {
            server.serve(listener, async { drop(three.wait_for(|stop| *stop).await) }).await;
        });
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { scenario, channels, base, http: reqwest::Client::new(), queues, stop, running }
    }

    /// Returns a client with this API key.
    fn client(&self, key: &str) -> Client {
        Client { http: self.http.clone(), base: self.base.clone(), key: key.to_owned() }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Returns the token of a new visitor.
    async fn visitor(&self) -> String {
        let welcome = self.http.post(self.url(&format!("/chat/{WEBCHAT}/visitors")));
        let welcome: Value =
            welcome.json(&serde_json::json!({})).send().await.unwrap().json().await.unwrap();
        welcome["token"].as_str().unwrap().to_owned()
    }

    /// Posts a message of a visitor.
    async fn post(&self, token: &str, id: &str, text: &str) -> reqwest::Response {
        let post = self.http.post(self.url(&format!("/chat/{WEBCHAT}/messages")));
        let body = serde_json::json!({"id": id, "text": text});
        post.bearer_auth(token).json(&body).send().await.unwrap()
    }
}

async fn bind(scenario: &Scenario, id: BindingId, channel: Channel, secret: &str, settings: &str) {
    let binding = ostler_testkit::binding(id, channel);
    let secret = Some(SecretRef::Env(secret.into()));
    let bound = OrgBinding { binding, agent: GIA, settings: settings.into(), secret };
    scenario.org().save_binding(bound).await.unwrap();
}

async fn key(scenario: &Scenario, org: OrgId, id: u128, secret: &str, role: Role) {
    let (id, scopes) = (KeyId::from_u128(id), KeyScopes::default());
    let key = NewApiKey { id, name: "test".into(), role, scopes, expires_at: None };
    let secret: ApiKeySecret = secret.parse().unwrap();
    scenario.store.org(org).create_key(key, &secret).await.unwrap();
}

/// Returns the status and the code of a problem.
async fn problem(answer: reqwest::Response) -> (u16, String) {
    let status = answer.status().as_u16();
    let media_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(media_type, "application/problem+json");
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["status"], status);
    (status, body["code"].as_str().unwrap().to_owned())
}
