//! `ostler webhook`: events arrive at another system, through failures and `kill -9`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_domain::time::Timestamp;
use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;

/// A request that a receiver has got.
#[derive(Clone)]
struct Received {
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Received {
    fn id(&self) -> String {
        self.headers["webhook-id"].to_str().expect("text").to_owned()
    }

    fn kind(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).expect("JSON");
        body["type"].as_str().expect("a kind").to_owned()
    }
}

/// A system that gets events, and answers with a status that the test sets.
struct Receiver {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
    status: Arc<Mutex<u16>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a receiver");
        let address = listener.local_addr().expect("an address").to_string();
        let (received, status) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(204)));
        let (requests, answer) = (received.clone(), status.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let Some(request) = read(&stream) else { continue };
                requests.lock().expect("the list").push(request);
                let status = *answer.lock().expect("the status");
                let answer = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                // The server may have been killed meanwhile.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { address, received, status }
    }

    fn answer(&self, status: u16) {
        *self.status.lock().expect("the status") = status;
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().expect("the list").clone()
    }

    /// Waits until something holds for what was received.
    fn wait(&self, what: &str, holds: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let all = self.received();
            if holds(&all) {
                return all;
            }
            let kinds: Vec<String> = all.iter().map(Received::kind).collect();
            assert!(Instant::now() < deadline, "{what}: {kinds:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut lines = BufReader::new(stream);
    let (mut headers, mut length) = (HeaderMap::new(), 0);
    for number in 0.. {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        let line = line.trim();
        if number > 0 && line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ").filter(|_| number > 0) {
            let name: HeaderName = name.parse().ok()?;
            if name == "content-length" {
                length = value.parse().ok()?;
            }
            headers.insert(name, HeaderValue::from_str(value).ok()?);
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    Some(Received { headers, body })
}

/// Lets the installation contact its own network.
fn allow_local_network(demo: &DemoInstallation) {
    let file = std::path::Path::new(&demo.home()).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, format!("local_network = true\n{config}")).expect("written");
}

/// K07: events that happen while no server runs arrive when one does, and one that failed is
/// repeated by the next server after `kill -9`, with the same id. Every request is signed.
#[test]
fn k07_events_survive_kill_9_with_their_ids() {
    let demo = DemoInstallation::new();
    allow_local_network(&demo);
    let receiver = Receiver::start();
    receiver.answer(500);
    let url = format!("http://{}/hooks", receiver.address);
    let created = demo.json(&["webhook", "create", &url, "--org", "bella"]);
    let key = created["secret"].as_str().expect("a key");
    assert!(!demo.run(&["webhook", "show", &receiver.address, "--org", "bella"]).contains(key));
    // The agent answers in the process of the command; nobody sends events yet.
    demo.run(&["send", "--org", "bella", "--contact", "nora", "When do you open?"]);
    assert!(receiver.received().is_empty());

    let mut server = RunningServer::start(&demo.home());
    let failed = receiver.wait("an attempt", |all| !all.is_empty());
    server.kill();
    drop(server);
    receiver.answer(204);
    let _server = RunningServer::start(&demo.home());
    let kinds = ["session_opened", "message", "run"];
    let all = receiver.wait("every event", |all| {
        let delivered = &all[failed.len().min(all.len())..];
        kinds.iter().all(|kind| delivered.iter().any(|one| one.kind() == *kind))
            && delivered.iter().any(|one| one.id() == failed[0].id())
    });
    let keys = SigningKeys::parse(&ChannelSecret::new(key)).expect("keys");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time");
    let now = Timestamp::from_millis(now.as_millis().try_into().expect("a time of today"));
    for one in &all {
        let verified = keys.verify(&one.headers, &one.body, now).expect("a signature");
        assert_eq!(verified.id, one.id());
        let body = String::from_utf8(one.body.clone()).expect("text");
        assert!(!body.contains("When do you open"), "{body}");
    }

    let tested = demo.run(&["webhook", "test", &receiver.address, "--org", "bella"]);
    assert!(tested.starts_with("the test event arrived (HTTP 204, "), "{tested}");
    let log = demo.run(&["webhook", "deliveries", &receiver.address, "--org", "bella"]);
    for part in ["webhook_test", "session_opened", "delivered", "204"] {
        assert!(log.contains(part), "{part} in {log}");
    }
}

/// K07: a webhook is made, changed, rotated and deleted, and mistakes say what to do.
#[test]
fn k07_webhooks_are_managed_by_commands() {
    let demo = DemoInstallation::new();
    let run = |args: &[&str]| demo.run(&[&["webhook"], args, &["--org", "bella"]].concat());
    let error = |args: &[&str]| demo.error(&[&["webhook"], args, &["--org", "bella"]].concat());
    let url = "https://crm.example/ostler";
    assert!(run(&["ls"]).contains("has no webhooks"));
    let made = run(&["create", url, "--events", "run,handoff", "--description", "CRM"]);
    assert!(made.contains("gets run, handoff from now on") || made.contains("handoff, run"));
    assert!(made.contains("whsec_") && made.contains("ostler webhook test crm.example"), "{made}");
    for (args, expected) in [
        (&["create", "http://crm.example"][..], "a webhook's URL starts with https://"),
        (&["create", url, "--events", "sessions"], "there is no such event; events are: message"),
        (&["edit", "crm.example"], "say what to change"),
        (&["show", "erp.example"], "has no webhook `erp.example`"),
        (&["redeliver", "crm.example"], "name a delivery, or say since when: --since 6h"),
        (&["redeliver", "crm.example", "--since", "soon"], "write a span such as 30m"),
    ] {
        let said = error(args);
        assert!(said.contains(expected), "{expected} in {said}");
    }
    assert!(run(&["edit", "crm.example", "--all-events"]).contains("it gets all events"));
    assert!(run(&["edit", "crm.example", "--disable"]).contains("is off"));
    assert!(error(&["test", "crm.example"]).contains("this webhook is off"));
    let rotated = run(&["rotate", "crm.example"]);
    assert!(rotated.contains("whsec_") && rotated.contains("signs too for a day"), "{rotated}");
    let shown = run(&["show", "crm.example"]);
    for part in ["all events", "off", "CRM", "old key until"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(run(&["redeliver", "crm.example", "--since", "2d"]).contains("0 deliveries are"));
    assert!(run(&["delete", "crm.example"]).contains("is deleted"));
    assert!(run(&["ls"]).contains("has no webhooks"));
}
