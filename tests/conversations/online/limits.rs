//! Limits of what clients send: rates, streams, connections, and bodies nobody signed.

use std::time::Duration;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_domain::rate_limit::{RateRule, RateSubject};
use ostler_runtime::deps::Clock;
use ostler_runtime::inbox::Intake;
use ostler_server::ServerLimits;
use ostler_server::rate_limits::RateRules;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{KEY, Online, SMS, WHSEC, problem, threads};
use crate::support::{ECHO, Scenario, WEBCHAT};

async fn online(limits: ServerLimits) -> Online {
    let scenario = Scenario::new(ECHO).await;
    let threads = threads::options(&scenario.store, "default: I see.");
    Online::with_limits(scenario, threads, limits).await
}

async fn with_rule(subject: RateSubject, burst: u32) -> Online {
    let mut rates = RateRules::UNLIMITED;
    rates.set(subject, RateRule { per_minute: 1, burst });
    online(ServerLimits { rates, ..ServerLimits::default() }).await
}

/// Returns the status, and the seconds to wait if the request was one too many.
async fn outcome(answer: reqwest::Response) -> (u16, u64) {
    let wait = answer.headers().get("retry-after");
    let wait = wait.map_or(0, |wait| wait.to_str().unwrap().parse().unwrap());
    (answer.status().as_u16(), wait)
}

impl Online {
    async fn webhook(&self, id: &str) -> reqwest::Response {
        let body = json!({"type": "message", "from": {"id": "+39 1"}, "text": id}).to_string();
        let keys = SigningKeys::parse(&ChannelSecret::new(WHSEC)).unwrap();
        let mut request = self.http.post(self.url(&format!("/v1/webhooks/{SMS}")));
        for (name, value) in keys.sign(id, Clock::system().now(), body.as_bytes()) {
            request = request.header(name, value);
        }
        request.body(body).send().await.unwrap()
    }
}

/// S06: a visitor who writes too much is told when to come back, and others are not.
#[tokio::test(flavor = "multi_thread")]
async fn s06_a_visitor_who_floods_is_refused_and_others_are_not() {
    let online = with_rule(RateSubject::Visitor, 2).await;
    let (rosa, otto) = (online.visitor().await, online.visitor().await);
    for n in ["1", "2"] {
        assert_eq!(online.post(&rosa, n, "hi").await.status(), 202);
    }
    let (status, wait) = outcome(online.post(&rosa, "3", "hi").await).await;
    assert_eq!(status, 429);
    assert!((50..=61).contains(&wait), "{wait}");
    assert_eq!(online.post(&otto, "1", "hi").await.status(), 202);
}

/// S06: one address makes only a few visitors, and only so many requests without a key; behind
/// a trusted proxy each client has its own address.
#[tokio::test(flavor = "multi_thread")]
async fn s06_an_address_is_limited_and_its_neighbours_are_not() {
    let new = |online: &Online, client: &'static str| {
        let url = online.url(&format!("/chat/{WEBCHAT}/visitors"));
        online.http.post(url).header("x-forwarded-for", client).json(&json!({})).send()
    };
    let online = with_rule(RateSubject::NewVisitor, 1).await;
    assert_eq!(new(&online, "1.1.1.1").await.unwrap().status(), 200);
    assert_eq!(new(&online, "1.1.1.1").await.unwrap().status(), 429);
    assert_eq!(new(&online, "2.2.2.2").await.unwrap().status(), 200);

    let online = with_rule(RateSubject::Address, 2).await;
    let me = online.url("/v1/me");
    for expected in [401, 401, 429] {
        let refused = online.http.get(&me).bearer_auth("osk_wrong").send().await.unwrap();
        assert_eq!(refused.status(), expected);
    }
    let hook = online.url(&format!("/v1/webhooks/{SMS}"));
    let unsigned = online.http.post(hook).body("{}").send().await.unwrap();
    assert_eq!(unsigned.status(), 429);
    let elsewhere = online.http.get(&me).header("x-forwarded-for", "3.3.3.3");
    assert_eq!(elsewhere.bearer_auth(KEY).send().await.unwrap().status(), 200);
}

/// S06: requests of a key, and messages of a binding and an org, have their own limits.
#[tokio::test(flavor = "multi_thread")]
async fn s06_keys_bindings_and_orgs_are_limited() {
    let online = with_rule(RateSubject::Key, 1).await;
    let me = || online.http.get(online.url("/v1/me")).bearer_auth(KEY).send();
    assert_eq!(me().await.unwrap().status(), 200);
    assert_eq!(problem(me().await.unwrap()).await, (429, "too_many".into()));
    for subject in [RateSubject::Binding, RateSubject::Org] {
        let online = with_rule(subject, 1).await;
        assert_eq!(online.webhook("1").await.status(), 200, "{subject:?}");
        assert_eq!(online.webhook("2").await.status(), 429, "{subject:?}");
    }
}

/// S06: an address and a visitor have a limited number of streams open.
#[tokio::test(flavor = "multi_thread")]
async fn s06_streams_are_capped_by_visitor_and_address() {
    let limits = ServerLimits {
        rates: RateRules::UNLIMITED,
        streams_per_visitor: 1,
        streams_per_address: 2,
        ..ServerLimits::default()
    };
    let online = online(limits).await;
    let follow = async |token: &str| {
        let tickets = online.http.post(online.url(&format!("/chat/{WEBCHAT}/tickets")));
        let ticket: Value = tickets.bearer_auth(token).send().await.unwrap().json().await.unwrap();
        let ticket = ticket["ticket"].as_str().unwrap();
        let url = online.url(&format!("/chat/{WEBCHAT}/events?ticket={ticket}"));
        online.http.get(url).send().await.unwrap()
    };
    let [rosa, otto, anna] =
        [online.visitor().await, online.visitor().await, online.visitor().await];
    let first = follow(&rosa).await;
    assert_eq!(first.status(), 200);
    assert_eq!(follow(&rosa).await.status(), 429, "the visitor has one");
    let second = follow(&otto).await;
    assert_eq!(second.status(), 200);
    assert_eq!(follow(&anna).await.status(), 429, "the address has two");
    drop(first);
    for _ in 0..100 {
        if follow(&anna).await.status() == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a closed stream does not make room");
}

/// S06: an address has a limited number of connections.
#[tokio::test(flavor = "multi_thread")]
async fn s06_connections_are_capped_by_address() {
    let limits = ServerLimits {
        trusted_proxies: ostler_server::client_address::TrustedProxies::new(Vec::new()),
        connections_per_address: 2,
        ..ServerLimits::default()
    };
    let online = online(limits).await;
    let address = online.base.strip_prefix("http://").unwrap().to_owned();
    let alive = async |socket: &mut TcpStream| {
        socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        socket.read(&mut [0; 64]).await.unwrap_or(0) > 0
    };
    let mut first = TcpStream::connect(&address).await.unwrap();
    assert!(alive(&mut first).await);
    let mut second = TcpStream::connect(&address).await.unwrap();
    assert!(alive(&mut second).await);
    let mut third = TcpStream::connect(&address).await.unwrap();
    assert!(!alive(&mut third).await, "the third is closed");
    assert!(alive(&mut first).await);
}

/// S04: a request that nobody signed is refused before its body is read.
#[tokio::test(flavor = "multi_thread")]
async fn s04_an_unsigned_body_is_not_read() {
    let online = Online::new(ECHO).await;
    let address = online.base.strip_prefix("http://").unwrap();
    for (path, extra) in [
        (format!("/v1/webhooks/{SMS}"), ""),
        (
            format!("/v1/webhooks/{SMS}"),
            "webhook-id: 1\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,x\r\n",
        ),
        (format!("/chat/{WEBCHAT}/messages"), "authorization: Bearer nobody\r\n"),
    ] {
        let mut socket = TcpStream::connect(address).await.unwrap();
        // Only the head is sent: a server that waits for the body never answers.
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 30000000\r\n{extra}\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 64];
        let read = tokio::time::timeout(Duration::from_secs(10), socket.read(&mut answer));
        let read = read.await.expect("an answer without the body").unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 401"), "{path}");
    }
}

/// S04: a message whose files the org has no room for is answered without them, and the sender
/// is told.
#[tokio::test(flavor = "multi_thread")]
async fn s04_a_message_is_accepted_without_files_that_do_not_fit() {
    let mut scenario = Scenario::new(ECHO).await;
    let bell = scenario.worker.bell().clone();
    let store = scenario.store.clone().with_storage_limit(4);
    scenario.intake = Intake::new(store, bell, 100);
    let online = Online::with(scenario).await;
    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    for (id, file) in [("1", "aGk="), ("2", "aGVsbG8=")] {
        let file = json!({"name": "a.png", "media_type": "image/png", "content": file});
        let body = json!({"id": id, "text": "look", "files": [file]});
        let post = online.http.post(online.url(&format!("/chat/{WEBCHAT}/messages")));
        let answer = post.bearer_auth(&token).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 202, "{id}");
        let message = page.message().await.data;
        let text = message["text"].as_str().unwrap();
        let kept = message["files"].as_array().map_or(0, Vec::len);
        assert_eq!(kept, usize::from(id == "1"), "{message}");
        assert_eq!(text.contains("Files cannot be accepted"), id == "2", "{message}");
        page.message().await;
    }
}

/// The server is not ready when nothing can be written, and is again when it can.
#[tokio::test(flavor = "multi_thread")]
async fn o20_a_server_that_cannot_write_is_not_ready() {
    let database = ostler_testkit::TestDatabase::sqlite_file();
    let store = database.migrated().await;
    let online = Online::with(Scenario::in_store(store.clone(), ECHO).await).await;
    let ready = || online.http.get(online.url("/readyz")).send();
    // The simulation limits the file, so the probe must not have left free pages in it.
    store.simulate_full_disk(true).await.unwrap();
    assert_eq!(problem(ready().await.unwrap()).await, (503, "unavailable".into()));
    assert_eq!(online.http.get(online.url("/healthz")).send().await.unwrap().status(), 200);
    store.simulate_full_disk(false).await.unwrap();
    assert_eq!(ready().await.unwrap().status(), 200);
}
