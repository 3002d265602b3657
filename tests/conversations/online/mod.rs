//! The same conversations over HTTP: a server, workers and couriers that run,
//! and programs and pages that ask.

mod chat;
mod follow;
mod keys;
mod operator;
mod stream;
mod webhooks;

use std::sync::Arc;

use ostler_api::client::Client;
use ostler_channels::secret::Secret;
use ostler_channels::{Channels, Limits, Reach};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{BindingId, KeyId, OrgId};
use ostler_domain::message::Part;
use ostler_domain::org::role::Role;
use ostler_domain::secret::{KeySecret, SecretRef};
use ostler_runtime::delivery::{Courier, SendOptions};
use ostler_runtime::inbound::receive::Reception;
use ostler_runtime::inbound::receive::people::{Doing, NotDone, People, Wish};
use ostler_runtime::parts::Clock;
use ostler_server::{Parts, Server};
use ostler_store::{NewKey, OrgBinding};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::world::{GIA, ORG, WEBCHAT, World};

/// A gateway.
const SMS: BindingId = BindingId::from_u128(0xb5);
/// What signs for the gateway.
const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// The key of an operator.
const KEY: &str = "osk_an-operator-of-bella-pizza-at-work";

/// Nobody of the org writes in chats here.
struct Nobody;

impl Nobody {
    fn refuse<'a>() -> Doing<'a> {
        Box::pin(std::future::ready(Err(NotDone::Refused("nobody is here".into()))))
    }
}

impl People for Nobody {
    fn take_over<'a>(&'a self, _: &'a Wish) -> Doing<'a> {
        Self::refuse()
    }

    fn human_message<'a>(&'a self, _: &'a Wish, _: Vec<Part>) -> Doing<'a> {
        Self::refuse()
    }

    fn resume<'a>(&'a self, _: &'a Wish) -> Doing<'a> {
        Self::refuse()
    }

    fn dismiss<'a>(&'a self, _: &'a Wish) -> Doing<'a> {
        Self::refuse()
    }
}

/// An org that is online.
struct Online {
    world: World,
    base: String,
    http: reqwest::Client,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Online {
    async fn new(script: &str) -> Self {
        Self::with(World::new(script).await).await
    }

    async fn with(world: World) -> Self {
        bind(&world, WEBCHAT, Channel::Webchat, "CHAT", "{}").await;
        bind(&world, SMS, Channel::Sms, "KEY", r#"{"url": "http://127.0.0.1:9/"}"#).await;
        key(&world, ORG, 1, KEY, Role::Operator).await;
        let channels = Channels::new(Limits::default(), Reach::Anywhere, |_, at| match at {
            SecretRef::Env(name) if name == "CHAT" => Ok(Secret::new("c".repeat(40))),
            SecretRef::Env(name) if name == "KEY" => Ok(Secret::new(WHSEC)),
            other => Err(format!("{other} is not set")),
        });
        let (channels, clock, store) = (channels.unwrap(), Clock::system(), world.store.clone());
        let (intake, people) = (world.intake.clone(), Arc::new(Nobody));
        let reception =
            Reception::new(store.clone(), intake, channels.clone(), people, clock.clone());
        let bell = world.worker.outbox_bell().clone();
        let options = SendOptions::default();
        let courier = Courier::new(store.clone(), channels.clone(), clock.clone(), options, bell);
        let deltas = world.worker.parts().deltas.clone();
        let operations = world.operations();
        let server = Server::new(Parts { store, operations, reception, channels, deltas, clock });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let worker = world.worker.clone();
        let (one, two, mut three) = (stopped.clone(), stopped.clone(), stopped);
        running.spawn(async move { worker.run(2, one).await });
        running.spawn(async move { courier.run(1, two).await });
        running.spawn(async move {
            server.serve(listener, async { drop(three.wait_for(|stop| *stop).await) }).await;
        });
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { world, base, http: reqwest::Client::new(), stop, running }
    }

    /// A program with a key.
    fn client(&self, key: &str) -> Client {
        Client::new(&self.base, key.parse().unwrap()).unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A page lets its visitor in.
    async fn visitor(&self) -> String {
        let welcome = self.http.post(self.url(&format!("/chat/{WEBCHAT}/visitors")));
        let welcome: Value =
            welcome.json(&serde_json::json!({})).send().await.unwrap().json().await.unwrap();
        welcome["token"].as_str().unwrap().to_owned()
    }

    /// A visitor writes.
    async fn post(&self, token: &str, id: &str, text: &str) -> reqwest::Response {
        let post = self.http.post(self.url(&format!("/chat/{WEBCHAT}/messages")));
        let body = serde_json::json!({"id": id, "text": text});
        post.bearer_auth(token).json(&body).send().await.unwrap()
    }
}

async fn bind(world: &World, id: BindingId, channel: Channel, secret: &str, settings: &str) {
    let binding = Binding { id, channel, enabled: true, priority: 1 };
    let secret = Some(SecretRef::Env(secret.into()));
    let bound = OrgBinding { binding, agent: GIA, settings: settings.into(), secret };
    world.org().save_binding(bound).await.unwrap();
}

async fn key(world: &World, org: OrgId, id: u128, secret: &str, role: Role) {
    let key = NewKey { id: KeyId::from_u128(id), name: "test".into(), role, expires_at: None };
    let secret: KeySecret = secret.parse().unwrap();
    world.store.org(org).create_key(key, &secret).await.unwrap();
}

/// The code of a problem, with its status.
async fn problem(answer: reqwest::Response) -> (u16, String) {
    let status = answer.status().as_u16();
    let media_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(media_type, "application/problem+json");
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["status"], status);
    (status, body["code"].as_str().unwrap().to_owned())
}
