//! Large hostile inputs, sent to a running server.
//!
//! The server runs on one thread, and the only other thread that it may use for long work is
//! taken. What is parsed there waits until the test gives it back; what was parsed on the
//! server's own thread would be finished before.

use std::sync::mpsc;
use std::time::Duration;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_domain::channel::Channel;
use ostler_domain::id::BindingId;
use ostler_domain::org::role::Role;
use ostler_runtime::deps::Clock;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{Online, SMS, WHSEC, bind, key};
use crate::support::{ECHO, ORG, WEBCHAT};

const MAIL: BindingId = BindingId::from_u128(0x3a11);
/// The key of an admin.
const ADMIN: &str = "osk_an-admin-of-bella-who-adds-documents";
const MIB: usize = 1024 * 1024;

/// Returns a runtime with one thread for the server and one for long work.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap()
}

/// Takes the thread for long work until the sender is dropped.
async fn take_thread() -> mpsc::Sender<()> {
    let (release, taken) = mpsc::channel::<()>();
    let (began, begins) = tokio::sync::oneshot::channel();
    tokio::task::spawn_blocking(move || {
        began.send(()).unwrap();
        // Ends when the other side is dropped.
        let _ended = taken.recv();
    });
    begins.await.unwrap();
    release
}

/// Texts of one MiB that cost careless parsers the square of their length.
fn texts() -> Vec<String> {
    let parts = ["> a\n", "On x wrote:\n\n", "[a](", "<a href=\"", "&amp;", "speak to ", "\u{e9}"];
    parts.iter().map(|part| part.repeat(MIB / part.len())).collect()
}

impl Online {
    fn signed(&self, binding: BindingId, id: &str, body: &Value) -> RequestBuilder {
        let body = body.to_string();
        let keys = SigningKeys::parse(&ChannelSecret::new(WHSEC)).unwrap();
        let mut request = self.http.post(self.url(&format!("/v1/webhooks/{binding}")));
        for (name, value) in keys.sign(id, Clock::system().now(), body.as_bytes()) {
            request = request.header(name, value);
        }
        request.body(body)
    }

    /// Returns requests with large bodies for each channel and for the API.
    async fn hostile_requests(&self) -> Vec<(String, RequestBuilder)> {
        let visitor = self.visitor().await;
        let mut all = Vec::new();
        for (number, text) in texts().into_iter().enumerate() {
            let part: String = text.chars().take(10).collect();
            let named = |what: &str| format!("{what} of {part:?}");
            let from = json!({"email": "rosa@example.com"});
            let mail = json!({"from": from, "dmarc": "pass", "subject": "hi", "text": text});
            all.push((named("mail"), self.signed(MAIL, &format!("m{number}"), &mail)));
            let html = json!({"from": from, "dmarc": "pass", "html": text});
            all.push((named("HTML mail"), self.signed(MAIL, &format!("h{number}"), &html)));
            let sms = json!({"type": "message", "from": {"id": "+39 1"}, "text": text});
            all.push((named("SMS"), self.signed(SMS, &format!("s{number}"), &sms)));
            let post = self.http.post(self.url(&format!("/chat/{WEBCHAT}/messages")));
            let chat = json!({"id": number.to_string(), "text": text});
            all.push((named("chat"), post.bearer_auth(&visitor).json(&chat)));
            let post = self.http.post(self.url(&format!("/v1/orgs/{ORG}/knowledge")));
            let cut: String = text.chars().take(MIB / 8).collect();
            let document = json!({"title": "x", "body": cut, "tags": []});
            all.push((named("document"), post.bearer_auth(ADMIN).json(&document)));
        }
        all
    }

    async fn healthz(&self) -> u16 {
        self.http.get(self.url("/healthz")).send().await.unwrap().status().as_u16()
    }
}

async fn online() -> Online {
    let online = Online::new(ECHO).await;
    let settings = json!({"from": "ciao@bella.example", "inbound_secret": "env:KEY",
        "smtp": {"host": "127.0.0.1", "port": 9, "security": "none"}});
    bind(&online.scenario, MAIL, Channel::Email, "KEY", &settings.to_string()).await;
    key(&online.scenario, ORG, 2, ADMIN, Role::Admin).await;
    online
}

/// S05: while a large input of any channel waits to be parsed, the server answers others;
/// none is parsed on the thread that serves.
#[test]
fn s05_the_server_answers_while_hostile_inputs_are_parsed() {
    runtime().block_on(async {
        let online = online().await;
        for (name, request) in online.hostile_requests().await {
            let thread = take_thread().await;
            let mut answer = Box::pin(request.send());
            for _ in 0..3 {
                tokio::select! {
                    biased;
                    early = &mut answer => panic!("{name} was parsed on the server's thread: {early:?}"),
                    status = async {
                        tokio::time::sleep(Duration::from_millis(15)).await;
                        online.healthz().await
                    } => assert_eq!(status, 200),
                }
            }
            drop(thread);
            let status = answer.await.unwrap().status().as_u16();
            // A chat takes 16,000 characters, and a document has words.
            let expected: &[u16] = match name.split(' ').next() {
                Some("chat") => &[400],
                Some("document") => &[201, 422],
                _ => &[200],
            };
            assert!(expected.contains(&status), "{name}: {status}");
        }
    });
}

/// S05: a server that is told to stop ends after the inputs that it has begun to parse.
#[test]
fn s05_a_server_stops_while_hostile_inputs_are_parsed() {
    runtime().block_on(async {
        let online = online().await;
        let thread = take_thread().await;
        let mut waiting = tokio::task::JoinSet::new();
        for (_, request) in online.hostile_requests().await {
            waiting.spawn(request.send());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(online.healthz().await, 200);
        online.stop.send_replace(true);
        drop(thread);
        let Online { mut running, .. } = online;
        let ended = async { while running.join_next().await.is_some() {} };
        let limit = Duration::from_secs(60);
        tokio::time::timeout(limit, ended).await.expect("it ends within its time to drain");
    });
}
