//! Real servers from npm and PyPI: one with Telegram's Bot API, and a mail server.

use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

pub(crate) const TOKEN: &str = "123:abc";

/// Longer than any test takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Awaits a future and panics after a minute.
pub(crate) async fn with_timeout<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.expect("timeout")
}

/// Returns a free port.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Returns the folder of the workspace.
fn root() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above
        .skip(1)
        .find(|folder| folder.join("Cargo.lock").exists())
        .expect("the workspace has a Cargo.lock")
        .into()
}

/// Runs an installation script and returns the folder that it prints.
pub(crate) fn installed(script: &str) -> PathBuf {
    let output =
        Program::new(root().join("scripts").join(script)).output().expect("the script runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a path").trim_end().into()
}

/// telegram-test-api: a server with the Bot API, and the client of a person.
pub(crate) struct TelegramServer {
    _server: Child,
    pub(crate) port: u16,
}

impl TelegramServer {
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
        assert_eq!(with_timeout(lines.next_line()).await.unwrap().as_deref(), Some("ready"));
        Self { _server: server, port }
    }

    /// Posts a request of the person's client and returns the response.
    async fn post(&self, path: &str, body: &Value) -> Value {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        with_timeout(socket.read_to_string(&mut response)).await.unwrap();
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    /// Performs an action of the person.
    pub(crate) async fn act(&self, path: &str, fields: Value) {
        let mut body = json!({"botToken": TOKEN, "date": 1,
            "from": {"id": 7, "first_name": "Rosa", "is_bot": false, "language_code": "it"},
            "chat": {"id": 7, "type": "private", "first_name": "Rosa"}});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(self.post(path, &body).await["ok"], json!(true));
    }

    /// Returns the messages of the bot since the last call.
    pub(crate) async fn bot_messages(&self) -> Vec<Value> {
        let body = json!({"token": TOKEN, "chatId": 7});
        let response = self.post("/getUpdates", &body).await;
        response["result"]
            .as_array()
            .unwrap()
            .iter()
            .map(|update| update["message"].clone())
            .collect()
    }
}

/// aiosmtpd: a mail server that accepts and prints every mail.
pub(crate) struct SmtpServer {
    _server: Child,
    port: u16,
    lines: Lines<BufReader<ChildStdout>>,
}

impl SmtpServer {
    pub(crate) async fn start() -> Self {
        let port = free_port();
        let mut server = Command::new(installed("install-pypi").join("bin/python"))
            .args(["-W", "ignore"])
            .arg(root().join("crates/channels/tests/channels/smtp_server.py"))
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut smtp = Self { _server: server, port, lines };
        assert_eq!(with_timeout(smtp.lines.next_line()).await.unwrap().as_deref(), Some("ready"));
        smtp
    }

    /// Waits for the next mail.
    pub(crate) async fn next_mail(&mut self) -> Value {
        let line = with_timeout(self.lines.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the settings of a binding that uses this server.
    pub(crate) fn settings(&self, security: &str) -> Value {
        json!({"from": "Bella Pizza <ciao@bella.example>",
            "smtp": {"host": "127.0.0.1", "port": self.port, "security": security,
                "username": "bella"}})
    }
}
