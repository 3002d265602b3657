//! Threads of the interactive harness that two servers share.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;

const SCRIPT: &str = "
rules:
  - when: { user: question }
    answer:
      - call: ask_user
        with: { question: Which one? }
      - 'You chose {{ result }}.'
  - when: { user: file }
    answer:
      - call: write_file
        with: { path: notes.txt, content: milk }
      - written
default: Hello!
";

/// A client of one server.
struct Client<'s> {
    server: &'s RunningServer,
    key: &'s str,
}

impl Client<'_> {
    /// Sends a request, and returns the status and the body of the response.
    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(&self.server.address).expect("it listens");
        write!(
            stream,
            "{method} /v1/orgs/bella/threads{path} HTTP/1.1\r\nHost: test\r\n\
             Authorization: Bearer {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        )
        .expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("text");
        let status = response.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = response.split("\r\n\r\n").nth(1).unwrap_or_default();
        (status.expect("a status"), serde_json::from_str(body).unwrap_or_default())
    }

    /// Begins an event stream, and returns it with its status.
    fn follow(&self, path: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(&self.server.address).expect("it listens");
        write!(
            stream,
            "GET /v1/orgs/bella/threads{path}/events HTTP/1.1\r\nHost: test\r\n\
             Authorization: Bearer {}\r\n\r\n",
            self.key
        )
        .expect("sent");
        let mut start = [0; 12];
        stream.read_exact(&mut start).expect("a status");
        let status = String::from_utf8_lossy(&start).split(' ').nth(1).map(str::to_owned);
        (stream, status.expect("a status"))
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send("POST", path, body);
        assert!(matches!(status, 200..300), "{path}: {status} {answer}");
        answer
    }
}

/// Tries again and again until there is a result.
fn wait_for<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..200 {
        if let Some(found) = attempt() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    attempt().unwrap_or_else(|| unreachable!("no {what} in time"))
}

/// A demo with a script of its own, and a key of the org.
fn installation(more: &str) -> (DemoInstallation, String) {
    let demo = DemoInstallation::new();
    let key = demo.run(&["key", "create", "ui", "--org", "bella"]).trim().to_owned();
    let home = demo.home();
    let file = |name: &str| Path::new(&home).join(name);
    std::fs::write(file("threads.yaml"), SCRIPT).expect("written");
    let text = std::fs::read_to_string(file("ostler.toml")).expect("a configuration");
    let others = text.lines().filter(|line| !line.starts_with("script ="));
    let own = "script = 'threads.yaml'\nlease_timeout_secs = 2\n";
    let text = format!("{own}{}\n{more}", others.collect::<Vec<_>>().join("\n"));
    std::fs::write(file("ostler.toml"), text).expect("written");
    (demo, key)
}

/// Z01: a server is killed while a question waits; another one, which was refused before,
/// takes the thread over and passes the answer on.
#[test]
fn z01_a_question_of_a_killed_server_is_answered_through_another() {
    let (demo, key) = installation("");
    let mut first_server = RunningServer::start(&demo.home());
    let second_server = RunningServer::start(&demo.home());
    let second = Client { server: &second_server, key: &key };
    let (path, id) = {
        let first = Client { server: &first_server, key: &key };
        let thread = first.post("", &json!({}));
        let path = format!("/{}", thread["id"].as_str().expect("an id"));
        first.post(&format!("{path}/messages"), &json!({"text": "question"}));
        let ask = wait_for("question", || {
            let shown = first.get(&path);
            shown["asks"][0]["questionId"].as_str().map(str::to_owned)
        });
        (path, ask)
    };
    let answers = format!("{path}/answers");
    let answer = json!({"type": "question", "id": id, "text": "red"});
    let (status, problem) = second.send("POST", &answers, &answer);
    assert_eq!((status, &problem["code"]), (409, &json!("in_use")), "{problem}");
    assert!(problem["detail"].as_str().expect("text").contains("ostler serve"), "{problem}");
    assert!(second.get(&path)["heldBy"].is_string());

    first_server.kill();
    wait_for("takeover", || (second.send("POST", &answers, &answer).0 == 204).then_some(()));
    let messages = wait_for("answer", || {
        let messages = second.get(&format!("{path}/messages"));
        messages["items"][3].is_object().then_some(messages)
    });
    assert_eq!(messages["items"][3]["content"][0]["text"], "You chose red.", "{messages}");
    assert_eq!(messages["items"].as_array().expect("a list").len(), 4);
    let (status, again) = second.send("POST", &answers, &answer);
    assert_eq!((status, &again["code"]), (409, &json!("not_now")), "an answer is used once");
}

/// Z03: a caller has a limited number of event streams; one that ends makes room.
#[test]
fn z03_a_caller_has_at_most_32_event_streams() {
    let (demo, key) = installation("");
    let server = RunningServer::start(&demo.home());
    let client = Client { server: &server, key: &key };
    let thread = client.post("", &json!({}));
    let path = format!("/{}", thread["id"].as_str().expect("an id"));
    let mut streams: Vec<_> = (0..32).map(|_| client.follow(&path)).collect();
    assert!(streams.iter().all(|(_, status)| status == "200"));
    assert_eq!(client.follow(&path).1, "429");
    let other = demo.run(&["key", "create", "other", "--org", "bella"]).trim().to_owned();
    let second = Client { server: &server, key: &other };
    let thread = second.post("", &json!({}));
    let own = format!("/{}", thread["id"].as_str().expect("an id"));
    assert_eq!(second.follow(&own).1, "200", "another caller is not concerned");
    streams.pop();
    wait_for("room", || (client.follow(&path).1 == "200").then_some(()));
}

/// K02: the installation names the folder that agents work in, and the prompts of modes.
#[test]
fn k02_threads_have_files_and_modes_of_the_installation() {
    let more = "thread_workspaces = 'work'\n[mode.chat]\ninstructions = 'chat.md'\n\
        [mode.review]\nname = 'Review'\ninstructions = 'chat.md'\nread_only = true\n";
    let (demo, key) = installation(more);
    let home = demo.home();
    std::fs::write(Path::new(&home).join("chat.md"), "You are very polite.").expect("written");
    let server = RunningServer::start(&home);
    let client = Client { server: &server, key: &key };
    let thread = client.post("", &json!({}));
    let path = format!("/{}", thread["id"].as_str().expect("an id"));
    let modes = client.get(&path)["modes"].clone();
    let names: Vec<&str> =
        modes.as_array().expect("modes").iter().filter_map(|mode| mode["name"].as_str()).collect();
    assert_eq!(names, ["Build", "Plan", "Chat", "Review"]);
    let changed = client.send("PUT", &format!("{path}/mode"), &json!({"modeId": "chat"}));
    assert_eq!(changed.0, 204);
    let wait = format!("{path}/messages?wait=true");
    client.post(&wait, &json!({"text": "file"}));
    let messages = client.get(&format!("{path}/messages"));
    assert_eq!(messages["items"][2]["content"][0]["isError"], true, "a mode that only reads");

    let changed = client.send("PUT", &format!("{path}/mode"), &json!({"modeId": "build"}));
    assert_eq!(changed.0, 204);
    client.post(&format!("{path}/messages"), &json!({"text": "file"}));
    let id = wait_for("approval", || {
        let shown = client.get(&path);
        shown["asks"][0]["toolCallId"].as_str().map(str::to_owned)
    });
    let answer = json!({"type": "approval", "id": id, "decision": "approve"});
    client.post(&format!("{path}/answers"), &answer);
    let work = Path::new(&home).join("work");
    let org = client.get(&path)["thread"]["resourceId"].as_str().expect("an owner").to_owned();
    wait_for("file", || {
        let orgs = std::fs::read_dir(&work).ok()?.flatten();
        let files = orgs.map(|entry| entry.path().join(&org).join("notes.txt"));
        let found = files.filter_map(|file| std::fs::read_to_string(file).ok()).next()?;
        (found == "milk").then_some(())
    });
}

/// What the shell of an example knows: requests that fail end it, and streams end after a while.
const SHELL: &str = r#"set -euo pipefail
curl() {
  case " $* " in
    *" -N "*) command curl --fail-with-body --max-time 3 "$@" || [ $? = 28 ] ;;
    *) command curl --fail-with-body --max-time 30 "$@" ;;
  esac
}
"#;

/// K02, K04, K05: the examples of docs/API.md run as they are written, and a model answers.
#[test]
fn k02_the_curl_examples_of_the_docs_run() {
    let (demo, key) = installation("");
    let server = RunningServer::start(&demo.home());
    let folder = tempfile::tempdir().expect("a folder");
    let photo = b"\x89PNG\r\n\x1a\n and so on";
    std::fs::write(folder.path().join("photo.png"), photo).expect("written");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/API.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let examples: Vec<&str> = page
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .map(|(_, body)| body)
        .filter(|body| body.contains("curl "))
        .collect();
    assert_eq!(examples.len(), 6, "{examples:?}");
    let admin = demo.json(&["key", "create", "admin", "--role", "admin", "--org", "bella"]);
    let admin = admin["secret"].as_str().expect("a secret");
    let run = |example: &str, key: &str| {
        let script = format!("{SHELL}{}", example.replace("127.0.0.1:7470", &server.address));
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .env("KEY", key)
            .output()
            .expect("bash runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{example}: {text} {errors}");
        text
    };
    assert!(run(examples[0], admin).contains("Calm and brief."), "an agent is made and changed");
    assert!(run(examples[1], admin).contains("\"changes\""), "a change is planned");
    let threads = run(examples[2], &key);
    assert_eq!(threads.matches("event: agent_end").count(), 2, "{threads}");
    assert!(threads.contains(r#""type":"image""#), "{threads}");
    let completions = run(examples[3], &key);
    assert!(completions.contains("\"chat.completion\""), "{completions}");
    assert!(completions.contains("data: [DONE]"), "{completions}");
    let mcp = run(examples[4], &key);
    assert!(mcp.contains("\"outcome\":\"answered\""), "{mcp}");
    assert!(run(examples[5], &key).contains("event: open"), "the stream of the org");
}

/// M41: the modes and models of an installation are listed over HTTP, with what they cost and
/// whether they can be used.
#[test]
fn m41_modes_and_models_are_listed_over_http() {
    let (demo, key) = installation("[mode.review]\nname = 'Review'\ninstructions = 'm.md'\n");
    std::fs::write(Path::new(&demo.home()).join("m.md"), "You review.").expect("written");
    let server = RunningServer::start(&demo.home());
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let head = format!("Authorization: Bearer {key}\r\nConnection: close\r\n\r\n");
    write!(stream, "GET /v1/orgs/bella/thread-choices HTTP/1.1\r\nHost: test\r\n{head}")
        .expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("text");
    let body = response.split("\r\n\r\n").nth(1).unwrap_or_default();
    let choices: Value = serde_json::from_str(body).expect("JSON");
    let modes = choices["modes"].as_array().expect("modes").iter();
    let modes: Vec<&str> = modes.filter_map(|mode| mode["id"].as_str()).collect();
    assert_eq!(modes, ["build", "plan", "chat", "review"]);
    let models = choices["models"].as_array().expect("models");
    let missing = models.iter().find(|model| model["key"] == "missing").expect("one without a key");
    assert!(missing["keyHint"].as_str().is_some_and(|hint| !hint.is_empty()), "{missing}");
    assert!(missing["inputPrice"].as_str().is_some_and(|price| price.starts_with('$')));
    let usable = models.iter().filter(|model| model["key"] != "missing").count();
    assert!(usable > 0, "the script needs no key: {choices}");
}
