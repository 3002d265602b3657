//! The server of `ostler mock-model` runs, answers and ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::stderr;

/// A running server, which never outlives its test.
pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts it, and reads where it listens.
    pub(crate) fn start(script: &str) -> (Self, String) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let child = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["mock-model", "--port", "0", "--script", script])
            .current_dir(root)
            .stdout(Stdio::piped())
            .spawn()
            .expect("ostler runs");
        let mut server = Self(child);
        let mut line = String::new();
        let output = server.0.stdout.as_mut().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let address = line.strip_prefix("http://").and_then(|rest| rest.split(' ').next());
        let address = address.expect("an address").to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{line}");
        (server, address)
    }
}

fn ask(address: &str, path: &str, body: &Value) -> String {
    let (body, mut answer) = (body.to_string(), String::new());
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "{head}content-length: {length}\r\n\r\n{body}").expect("it is sent");
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    answer
}

#[test]
fn the_mock_model_answers_both_providers_and_ends_with_ctrl_c() {
    let (mut server, address) = Server::start("examples/scripts/support.yaml");
    let messages = json!([{"role": "user", "content": "Hello!"}]);
    let hello = "Welcome to Bella Pizza! What can I do for you?";
    for stream in [false, true] {
        let body = json!({"model": "gia", "messages": messages, "stream": stream});
        let answer = ask(&address, "/v1/chat/completions", &body);
        assert!(answer.contains(hello), "{answer}");
        let body = json!({"model": "gia", "messages": messages, "stream": stream, "max_tokens": 9});
        let answer = ask(&address, "/v1/messages", &body);
        assert!(answer.contains(hello), "{answer}");
    }
    let process = server.0.id().to_string();
    let sent = Command::new("kill").args(["-INT", &process]).status().expect("kill runs");
    assert!(sent.success());
    assert!(server.0.wait().expect("it ends").success());
}

#[test]
fn an_invalid_script_is_an_error_with_its_position() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong.yaml");
    std::fs::write(&path, "rules:\n  - anwser: Hello\n").expect("the script is written");
    let path = path.to_str().expect("a plain path");
    let said = stderr(&["mock-model", "--port", "0", "--script", path]);
    let expected = "F:2:5: unknown key `anwser`; did you mean `answer`?";
    assert_eq!(said.replace(path, "F"), format!("error: {expected}\n"));
}
