//! Channels, from the terminal to the customer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

use ostler_channels::secret::Secret;
use ostler_channels::signature::Keys;
use ostler_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::demo::Played;

/// A message of HTTP: its first line, and its body.
fn read(stream: &TcpStream) -> (String, Value) {
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

/// Sends what a gateway brings, and gives the first line of the answer.
fn bring(address: &str, path: &str, key: &str, message: &Value) -> String {
    let (keys, body) = (Keys::read(&Secret::new(key)).expect("keys"), message.to_string());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time");
    let now = Timestamp::from_millis(now.as_millis().try_into().expect("a time of today"));
    let signed = keys.sign("first", now, body.as_bytes());
    let signed: String =
        signed.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{signed}\
         content-length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it is sent");
    read(&stream).0
}

/// `ostler serve`, until it is dropped.
struct Serving(Child, String);

impl Serving {
    fn start(home: &str) -> Self {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--home", home];
        let mut process = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(serve)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(process.stdout.take().expect("an output"));
        let said = output.lines().next().expect("a line").expect("it says where it listens");
        let address = said.split("http://").nth(1).and_then(|rest| rest.split(';').next());
        Self(process, address.expect("an address").to_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _gone_already = self.0.wait();
    }
}

/// An org is bound to a gateway by one command, and a message that the gateway
/// brings is answered through it.
#[test]
fn a_channel_is_added_and_answers() {
    let played = Played::new();
    let gateway = TcpListener::bind("127.0.0.1:0").expect("a gateway");
    let url = format!("http://{}/out", gateway.local_addr().expect("an address"));
    let settings = json!({"url": url}).to_string();
    let add = ["channel", "add", "sms", "--org", "bella", "--settings", &settings];
    // Into one's own network only if the operator lets it lead there.
    let file = Path::new(&played.home()).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, format!("local_network = true\n{config}")).expect("written");
    let added = played.json(&add);
    let place = added["secret"].as_str().expect("a place").strip_prefix("file:").expect("a file");
    let key = std::fs::read_to_string(place).expect("a key");
    assert!(key.starts_with("whsec_") && !added.to_string().contains(&key), "{added}");

    let serving = Serving::start(&played.home());
    let path = format!("/v1/webhooks/{}", added["binding"].as_str().expect("an id"));
    let message = json!({"type": "message", "from": {"id": "+39 06 1234"}, "text": "hello"});
    let forged = bring(&serving.1, &path, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &message);
    assert!(forged.contains(" 401 "), "{forged}");
    let taken = bring(&serving.1, &path, &key, &message);
    assert!(taken.contains(" 20"), "{taken}");
    let (mut answer, _) = gateway.accept().expect("the answer");
    let (_, said) = read(&answer);
    answer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("taken");
    assert_eq!((&said["to"], &said["channel"]), (&"+39061234".into(), &"sms".into()));
    assert!(
        said["text"].as_str().is_some_and(|text| text.contains("welcome to Bella Pizza")),
        "{said}"
    );
}

/// What could never work is refused before anything is stored, in words that say
/// what to do.
#[test]
fn a_channel_that_cannot_work_is_refused() {
    let played = Played::new();
    let add = |channel: &'static str, more: &[&str]| {
        [&["channel", "add", channel, "--org", "bella"][..], more].concat().join("\u{1}")
    };
    let check = |args: String, said: &str| {
        let args: Vec<&str> = args.split('\u{1}').collect();
        let refused = played.refused(&args);
        assert!(refused.contains(said), "{said} in {refused}");
    };
    check(add("telegram", &[]), "the token that @BotFather gave out; set OSTLER_SECRET_ORG_");
    check(add("telegram", &["--secret", "env:PATH"]), "no secret of this organization");
    check(add("telgram", &[]), "no channel `telgram`; did you mean `telegram`?");
    check(add("sms", &[]), "missing field `url`");
    check(add("sms", &["--settings", "{"]), "the settings of this sms binding cannot be used");
    let tall = r#"{"origin": "https://x.example"}"#;
    check(add("webchat", &["--settings", tall]), "unknown field `origin`");
    check(add("webchat", &["--agent", "nobody"]), "no agent `nobody`");
    let mail = r#"{"from": "a@b.example", "smtp": {"host": "b.example", "username": "a"}}"#;
    check(add("email", &["--settings", mail]), "give it the password of the mail server");
    let listed = played.json(&["channel", "ls", "--org", "bella"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}

/// A channel is switched off and on, and a bot has one binding.
#[test]
fn a_channel_is_changed() {
    let played = Played::new();
    let shown = played.run(&["channel", "add", "webchat", "--org", "bella", "--agent", "enzo"]);
    for part in ["Bella Pizza is reached by webchat now", "/chat/bnd_", "data-binding=\"bnd_"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let secrets = Path::new(&played.home()).join("secrets/org_00000000000000000000000003");
    std::fs::write(secrets.join("bot"), "123:abc\n").expect("a token");
    let place = format!("file:{}", secrets.join("bot").display());
    let bot = ["channel", "add", "telegram", "--org", "bella", "--secret", &place];
    let added = played.json(&bot);
    assert!(played.refused(&bot).contains("this bot is bound already, as bnd_"));
    let id = added["binding"].as_str().expect("an id").to_owned();
    let end = format!("…{}", &id[id.len() - 4..]);
    let off = played.run(&["channel", "change", &end, "--org", "bella", "--off"]);
    assert_eq!(off, format!("{id} is changed, and off\n"));
    let again = played.json(&bot);
    assert_ne!(again["binding"], added["binding"]);
    let on = played.refused(&["channel", "change", &id, "--org", "bella", "--on"]);
    assert!(on.contains("this bot is bound already"), "{on}");
    std::fs::remove_file(secrets.join("bot")).expect("it was there");
    let listed = played.run(&["channel", "ls", "--org", "bella"]);
    for part in ["off", "no secret", "put the secret into the file", "enzo", "gia"] {
        assert!(listed.contains(part), "{part} in {listed}");
    }
    assert!(!listed.contains("123:abc"), "{listed}");
    let none = played.refused(&["channel", "change", "…zzzz", "--org", "bella", "--off"]);
    assert!(none.contains("Bella Pizza has no channel `…zzzz`"), "{none}");
}
