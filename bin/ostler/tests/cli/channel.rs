//! `ostler channel`, and messages through the channels that it connects.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::SystemTime;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;

/// Reads the first line and the body of an HTTP message.
fn read_http(stream: &TcpStream) -> (String, Value) {
    let mut lines = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    lines.read_line(&mut first).expect("a first line");
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).expect("a header");
        let line = line.trim().to_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse().expect("a number");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).expect("a body");
    (first, serde_json::from_slice(&body).unwrap_or_default())
}

/// Posts a message of a gateway, and returns the first line of the response.
pub(crate) fn post_message(address: &str, path: &str, key: &str, message: &Value) -> String {
    let (keys, body) =
        (SigningKeys::parse(&ChannelSecret::new(key)).expect("keys"), message.to_string());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time");
    let at = Timestamp::from_millis(now.as_millis().try_into().expect("a time of today"));
    let id = format!("{:x}", now.as_nanos());
    let signed = keys.sign(&id, at, body.as_bytes());
    let signed: String =
        signed.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{signed}\
         content-length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it is sent");
    read_http(&stream).0
}

/// One command connects a gateway; its messages are answered through it.
#[test]
fn a_message_through_an_added_channel_is_answered() {
    let demo = DemoInstallation::new();
    let gateway = TcpListener::bind("127.0.0.1:0").expect("a gateway");
    let url = format!("http://{}/out", gateway.local_addr().expect("an address"));
    let settings = json!({"url": url}).to_string();
    let add = ["channel", "add", "sms", "--org", "bella", "--settings", &settings];
    // Hosts of the local network need the operator's permission.
    let file = std::path::Path::new(&demo.home()).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, format!("local_network = true\n{config}")).expect("written");
    let added = demo.json(&add);
    let name = added["secret"].as_str().expect("a place").strip_prefix("file:").expect("a file");
    let key = demo.read_secret("bella", name);
    assert!(key.starts_with("whsec_") && !added.to_string().contains(&key), "{added}");

    let server = RunningServer::start(&demo.home());
    let path = format!("/v1/webhooks/{}", added["binding"].as_str().expect("an id"));
    let message = json!({"type": "message", "from": {"id": "+39 06 1234"}, "text": "hello"});
    let forged =
        post_message(&server.address, &path, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &message);
    assert!(forged.contains(" 401 "), "{forged}");
    let taken = post_message(&server.address, &path, &key, &message);
    assert!(taken.contains(" 20"), "{taken}");
    let (mut answer, _) = gateway.accept().expect("the answer");
    let (_, said) = read_http(&answer);
    answer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("taken");
    assert_eq!((&said["to"], &said["channel"]), (&"+39061234".into(), &"sms".into()));
    assert!(
        said["text"].as_str().is_some_and(|text| text.contains("welcome to Bella Pizza")),
        "{said}"
    );
}

#[test]
fn a_channel_that_cannot_work_is_rejected_before_it_is_stored() {
    let demo = DemoInstallation::new();
    let add = |channel: &'static str, more: &[&str]| {
        [&["channel", "add", channel, "--org", "bella"][..], more].concat().join("\u{1}")
    };
    let check = |args: String, expected: &str| {
        let args: Vec<&str> = args.split('\u{1}').collect();
        let error = demo.error(&args);
        assert!(error.contains(expected), "{expected} in {error}");
    };
    check(add("telegram", &[]), "the token that @BotFather issued; set OSTLER_SECRET_ORG_");
    check(add("telegram", &["--secret", "env:PATH"]), "does not belong to this organization");
    check(add("telgram", &[]), "no channel `telgram`; did you mean `telegram`?");
    check(add("sms", &[]), "`url` is missing");
    check(add("sms", &["--settings", "{"]), "the settings of this sms binding are invalid");
    let tall = r#"{"origin": "https://x.example"}"#;
    check(
        add("webchat", &["--settings", tall]),
        "there is no setting `origin`; there are `origins`, `greeting`, `color`",
    );
    check(add("webchat", &["--agent", "nobody"]), "no agent `nobody`");
    let mail = r#"{"from": "a@b.example", "smtp": {"host": "b.example", "username": "a"}}"#;
    check(add("email", &["--settings", mail]), "it needs the password for the mail server");
    let listed = demo.json(&["channel", "ls", "--org", "bella"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn channels_are_switched_off_and_a_bot_has_one_binding() {
    let demo = DemoInstallation::new();
    let shown = demo.run(&["channel", "add", "webchat", "--org", "bella", "--agent", "enzo"]);
    for part in ["Bella Pizza is connected to webchat", "/chat/bnd_", "data-binding=\"bnd_"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    demo.write_secret("bella", "bot", "123:abc\n");
    let bot = ["channel", "add", "telegram", "--org", "bella", "--secret", "file:bot"];
    let added = demo.json(&bot);
    assert!(demo.error(&bot).contains("this bot already has the binding bnd_"));
    let id = added["binding"].as_str().expect("an id").to_owned();
    let end = format!("…{}", &id[id.len() - 4..]);
    let off = demo.run(&["channel", "change", &end, "--org", "bella", "--off"]);
    assert_eq!(off, format!("{id} changed; it is off\n"));
    let again = demo.json(&bot);
    assert_ne!(again["binding"], added["binding"]);
    let on = demo.error(&["channel", "change", &id, "--org", "bella", "--on"]);
    assert!(on.contains("this bot already has the binding"), "{on}");
    demo.remove_secret("bella", "bot");
    let listed = demo.run(&["channel", "ls", "--org", "bella"]);
    for part in ["off", "no secret", "put the secret into the file", "enzo", "gia"] {
        assert!(listed.contains(part), "{part} in {listed}");
    }
    assert!(!listed.contains("123:abc"), "{listed}");
    let none = demo.error(&["channel", "change", "…zzzz", "--org", "bella", "--off"]);
    assert!(none.contains("Bella Pizza has no channel `…zzzz`"), "{none}");
}
