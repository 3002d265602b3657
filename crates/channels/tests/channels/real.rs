//! Real servers, from npm and PyPI: one that speaks Telegram's Bot API, with a
//! person who uses it, and one for mail.

use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

/// The token of the bot.
pub(crate) const TOKEN: &str = "123:abc";

/// Longer than anything takes, so that a test which fails ends.
const LONG: Duration = Duration::from_secs(60);

/// What a future comes to, if it does not take forever.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("it took too long")
}

/// A port of this machine that nobody listens at.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The folder with all sources.
fn root() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.skip(1).find(|folder| folder.join("Cargo.lock").exists()).expect("it is there").into()
}

/// The folder that an installing script prints, installed on first use.
pub(crate) fn installed(script: &str) -> PathBuf {
    let output = Program::new(root().join("scripts").join(script)).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a path").trim_end().into()
}

/// The server, and a person who uses it.
pub(crate) struct Phone {
    _server: Child,
    pub(crate) port: u16,
}

impl Phone {
    pub(crate) async fn start() -> Self {
        let npm = installed("install-npm");
        let port = free_port();
        let program = "const Server = require(process.argv[1]);
            new Server({port: Number(process.argv[2]), host: '127.0.0.1'})
                .start().then(() => console.log('ready'));";
        let mut server = Command::new(npm.join("node"))
            .args(["-e", program])
            .arg(npm.join("node_modules/telegram-test-api"))
            .arg(port.to_string())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        assert_eq!(within(lines.next_line()).await.unwrap().as_deref(), Some("ready"));
        Self { _server: server, port }
    }

    /// What the server answers to what the person's program posts.
    async fn post(&self, path: &str, body: &Value) -> Value {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        within(socket.read_to_string(&mut answer)).await.unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    /// The person does something.
    pub(crate) async fn does(&self, path: &str, fields: Value) {
        let mut body = json!({"botToken": TOKEN, "date": 1,
            "from": {"id": 7, "first_name": "Rosa", "is_bot": false, "language_code": "it"},
            "chat": {"id": 7, "type": "private", "first_name": "Rosa"}});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(self.post(path, &body).await["ok"], json!(true));
    }

    /// What the bot has written since.
    pub(crate) async fn reads(&self) -> Vec<Value> {
        let body = json!({"token": TOKEN, "chatId": 7});
        let answer = self.post("/getUpdates", &body).await;
        answer["result"]
            .as_array()
            .unwrap()
            .iter()
            .map(|update| update["message"].clone())
            .collect()
    }
}

/// A mail server that takes everything and shows it.
pub(crate) struct Smtp {
    _server: Child,
    port: u16,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Smtp {
    pub(crate) async fn start() -> Self {
        let port = free_port();
        let mut server = Command::new(installed("install-pypi").join("bin/python"))
            .args(["-W", "ignore"])
            .arg(root().join("crates/channels/tests/channels/smtp.py"))
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut smtp = Self { _server: server, port, lines };
        assert_eq!(within(smtp.lines.next_line()).await.unwrap().as_deref(), Some("ready"));
        smtp
    }

    /// The next mail that it gets.
    pub(crate) async fn next_mail(&mut self) -> Value {
        let line = within(self.lines.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The settings of a binding that sends through it.
    pub(crate) fn settings(&self, security: &str) -> Value {
        json!({"from": "Bella Pizza <ciao@bella.example>",
            "smtp": {"host": "127.0.0.1", "port": self.port, "security": security,
                "username": "bella"}})
    }
}
