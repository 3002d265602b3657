//! `ostler acp`: the official client library of the protocol, and clients that misbehave.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The root of the repository.
fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const SCRIPT: &str = "examples/scripts/coding.yaml";

/// The updates of a kind, in order.
fn kinds<'v>(found: &'v Value, kind: &str) -> Vec<&'v Value> {
    let updates = found["updates"].as_array().expect("updates");
    updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

/// What the agent said.
fn text(found: &Value) -> String {
    let chunks = kinds(found, "agent_message_chunk");
    chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
}

/// K06: the official client completes a session with permission requests (approve, reject,
/// always), a task list, a question, a command, a plan and a cancellation, and loads it again.
#[test]
fn k06_the_official_client_completes_a_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path").join("project");
    std::fs::create_dir(&root).expect("a folder");
    std::fs::write(root.join("once.txt"), "before\n").expect("a file");
    let packages = Command::new(repository().join("scripts/install-npm")).output();
    let packages = packages.expect("the script runs");
    assert!(packages.status.success(), "{}", String::from_utf8_lossy(&packages.stderr));
    let packages = PathBuf::from(String::from_utf8(packages.stdout).expect("a path").trim_end());
    let output = Command::new(packages.join("node"))
        .arg(repository().join("bin/ostler/tests/cli/fixtures/acp_client.mjs"))
        .args([&packages, &root])
        .args([env!("CARGO_BIN_EXE_ostler"), "acp", "--script", SCRIPT, "--threads"])
        .arg(folder.path().join("threads.db"))
        .current_dir(repository())
        .output()
        .expect("node runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["exit"], 0, "{errors}");
    assert_eq!(found["initialized"]["protocolVersion"], 1);
    assert_eq!(found["created"]["modes"]["currentModeId"], "build");
    assert_eq!(found["created"]["configOptions"][0]["currentValue"], "scripted");

    let rejected = &found["rejected"];
    assert_eq!(
        (&rejected["stopReason"], root.join("no.txt").exists()),
        (&json!("end_turn"), false)
    );
    let [request] = rejected["permissions"].as_array().expect("requests").as_slice() else {
        panic!("{rejected}")
    };
    let options = request["options"].as_array().expect("options").iter();
    let options: Vec<&Value> = options.map(|option| &option["kind"]).collect();
    assert_eq!(options, ["allow_once", "allow_always", "reject_once"]);
    let call = &kinds(rejected, "tool_call")[0];
    assert_eq!(call["toolCallId"], request["toolCall"]["toolCallId"]);
    assert_eq!((&call["kind"], &call["title"]), (&json!("edit"), &json!("Write no.txt")));
    assert_eq!(kinds(rejected, "tool_call_update").last().expect("an end")["status"], "failed");

    let allowed = &found["allowed"];
    let diff = json!([{"type": "diff", "path": root.join("once.txt"), "oldText": "before\n",
        "newText": "hello from the agent\n"}]);
    assert_eq!(allowed["permissions"][0]["toolCall"]["content"], diff);
    assert_eq!(kinds(allowed, "tool_call_update").last().expect("an end")["status"], "completed");
    let written = std::fs::read_to_string(root.join("once.txt")).expect("the file");
    assert_eq!(written, "hello from the agent\n");
    assert_eq!(found["always"]["permissions"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["unasked"]["permissions"], json!([]));
    assert!(root.join("unasked.txt").exists());

    let read = &kinds(&found["read"], "tool_call")[0];
    assert_eq!(read["locations"], json!([{"path": root.join("once.txt")}]));
    assert!(text(&found["read"]).contains("hello from the agent"), "{}", found["read"]);
    let plan = &kinds(&found["tasks"], "plan")[0]["entries"];
    assert_eq!(
        (&plan[0]["status"], &plan[1]["status"]),
        (&json!("completed"), &json!("in_progress"))
    );
    assert_eq!(kinds(&found["tasks"], "tool_call").len(), 0);
    assert!(text(&found["question"]).contains("blue"), "{}", found["question"]);
    let ended = kinds(&found["command"], "tool_call_update");
    let output = ended.last().expect("an end")["content"][0]["content"]["text"].as_str();
    assert!(output.is_some_and(|text| text.contains("one") && text.contains("two")), "{ended:?}");

    let plan = &found["plan"];
    assert_eq!(plan["permissions"][0]["toolCall"]["title"], "Add a greeting");
    assert_eq!(
        kinds(plan, "current_mode_update").last().expect("a mode")["currentModeId"],
        "build"
    );
    assert!(root.join("greeting.txt").exists(), "{plan}");
    assert!(text(plan).contains("The plan is carried out."), "{plan}");

    assert_eq!(found["cancelled"]["stopReason"], "cancelled");
    let said = text(&found["cancelled"]);
    assert!(!said.is_empty() && !said.contains("on and on"), "{said}");
    let [listed] = found["sessions"]["sessions"].as_array().expect("sessions").as_slice() else {
        panic!("{}", found["sessions"])
    };
    assert_eq!((&listed["title"], &listed["cwd"]), (&json!("write no.txt"), &json!(root)));
    let replayed = json!({"updates": found["replayed"]});
    assert_eq!(kinds(&replayed, "user_message_chunk")[0]["content"]["text"], "write no.txt");
    assert!(text(&replayed).contains("You chose"), "{replayed}");
    assert_eq!(found["loaded"]["modes"]["currentModeId"], "build");
}

/// A client that writes lines and reads lines.
struct LineClient {
    program: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Lines that nobody has waited for yet.
    unread: Vec<Value>,
    next_id: u64,
}

impl LineClient {
    fn start(threads: &Path) -> Self {
        Self::start_with(threads, &[])
    }

    fn start_with(threads: &Path, more: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["acp", "--script", SCRIPT, "--threads"])
            .arg(threads)
            .args(more)
            .current_dir(repository())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let output = BufReader::new(program.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // Everything on standard output is the protocol.
                let line = serde_json::from_str(&line).unwrap_or(json!({"notJson": line}));
                let _ = sender.send(line);
            }
        });
        let input = program.stdin.take();
        let mut client = Self { program, input, lines, unread: Vec::new(), next_id: 0 };
        client.request("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
        client
    }

    fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{line}").expect("the program reads");
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string());
        id
    }

    /// Waits for a line, and leaves the others for later.
    fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unread.iter().position(&is_it) {
            return self.unread.remove(at);
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            assert!(line.is_ok(), "no {what}");
            let line = line.expect("a line");
            assert!(line.get("notJson").is_none(), "{line}");
            if is_it(&line) {
                return line;
            }
            self.unread.push(line);
        }
    }

    fn answer_to(&mut self, id: u64) -> Value {
        self.wait("answer", |line| line["id"] == id && line.get("method").is_none())
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    fn new_session(&mut self, root: &Path) -> Value {
        let created = self.request("session/new", &json!({"cwd": root, "mcpServers": []}));
        created["result"]["sessionId"].clone()
    }

    fn prompt(&mut self, session: &Value, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", &json!({"sessionId": session, "prompt": prompt}))
    }

    fn permission_request(&mut self) -> Value {
        self.wait("request", |line| line["method"] == "session/request_permission")
    }

    fn allow(&mut self, request: &Value) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": outcome});
        self.write(&answer.to_string());
    }

    /// Closes the input and returns the exit code.
    fn leave(mut self) -> Option<i32> {
        self.input = None;
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.program.try_wait().expect("a status") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "the program goes on without its client");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for LineClient {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// K06: mistakes of a client are answered, and the session goes on.
#[test]
fn k06_mistakes_of_a_client_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = LineClient::start(&folder.path().join("threads.db"));
    client.write("this is not JSON");
    let error = client.wait("error", |line| line.get("error").is_some());
    assert_eq!(error["error"]["code"], -32700);
    let unknown = client.request("session/nothing", &json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    let id = client.prompt(&json!("thr_00000000000000000000000001"), "hi");
    assert_eq!(client.answer_to(id)["error"]["code"], -32002);
    let relative = client.request("session/new", &json!({"cwd": "here", "mcpServers": []}));
    assert!(relative["error"]["message"].as_str().is_some_and(|why| why.contains("absolute")));
    let dead = json!([{"name": "Dead", "command": "/no/such/program", "args": [], "env": []}]);
    let dead = client.request("session/new", &json!({"cwd": folder.path(), "mcpServers": dead}));
    let why = dead["error"]["message"].as_str().expect("an error");
    assert!(why.contains("/no/such/program"), "{why}");
    let session = client.new_session(folder.path());
    let first = client.prompt(&session, "think");
    let second = client.prompt(&session, "hi");
    let busy = client.answer_to(second);
    assert!(busy["error"]["message"].as_str().is_some_and(|why| why.contains("cancel it first")));
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel",
        "params": {"sessionId": session}});
    client.write(&cancel.to_string());
    assert_eq!(client.answer_to(first)["result"]["stopReason"], "cancelled");
    let id = client.prompt(&session, "hello");
    assert_eq!(client.answer_to(id)["result"]["stopReason"], "end_turn");
    assert_eq!(client.leave(), Some(0));
}

/// K06: a client that goes away in the middle of an answer ends the program.
#[test]
fn k06_the_program_ends_with_its_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = LineClient::start(&folder.path().join("threads.db"));
    let session = client.new_session(folder.path());
    client.prompt(&session, "think");
    client.wait("text", |line| line["method"] == "session/update");
    assert_eq!(client.leave(), Some(0));
}

/// K06: with subagents, which use tools of the workspace, sessions are listed, closed and
/// deleted as without.
#[test]
fn k06_sessions_with_subagents_are_listed_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let agents = folder.path().join("agents.toml");
    let worker = "[[subagent]]\nname = 'worker'\ndescription = 'works'\n\
        instructions = 'You work.'\ntools = ['read_file', 'web_fetch']\n";
    std::fs::write(&agents, worker).expect("written");
    let agents = agents.to_str().expect("a plain path");
    let mut client =
        LineClient::start_with(&folder.path().join("threads.db"), &["--subagents", agents]);
    let session = client.new_session(folder.path());
    let sessions = |client: &mut LineClient| {
        let listed = client.request("session/list", &json!({}));
        let ids = listed["result"]["sessions"].as_array().expect("sessions").iter();
        ids.map(|found| found["sessionId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(sessions(&mut client), std::slice::from_ref(&session));
    let id = json!({"sessionId": session});
    let closed = client.request("session/close", &id);
    assert!(closed.get("error").is_none(), "{closed}");
    assert_eq!(sessions(&mut client), std::slice::from_ref(&session), "a closed one is kept");
    let deleted = client.request("session/delete", &id);
    assert!(deleted.get("error").is_none(), "{deleted}");
    assert!(sessions(&mut client).is_empty());
    assert_eq!(client.leave(), Some(0));
}

/// K06: after kill -9, a session is loaded again with its open question, and the answer is
/// used.
#[test]
fn k06_an_open_approval_survives_kill_9() {
    let folder = tempfile::tempdir().expect("a folder");
    let threads = folder.path().join("threads.db");
    let root = folder.path().join("project");
    std::fs::create_dir(&root).expect("a folder");
    let mut client = LineClient::start(&threads);
    let session = client.new_session(&root);
    client.prompt(&session, "write note.txt");
    let request = client.permission_request();
    client.program.kill().expect("killed");
    client.program.wait().expect("ended");
    assert!(!root.join("note.txt").exists());

    let mut later = LineClient::start(&threads);
    let load = json!({"sessionId": session, "cwd": root, "mcpServers": []});
    let id = later.send("session/load", &load);
    let again = later.permission_request();
    assert_eq!(
        again["params"]["toolCall"]["toolCallId"],
        request["params"]["toolCall"]["toolCallId"]
    );
    let loaded = later.answer_to(id);
    assert!(loaded.get("result").is_some(), "{loaded}");
    later.allow(&again);
    let is_end = |line: &Value| line["params"]["update"]["status"] == "completed";
    later.wait("end of the call", is_end);
    assert_eq!(
        std::fs::read_to_string(root.join("note.txt")).expect("it"),
        "hello from the agent\n"
    );
    assert_eq!(later.leave(), Some(0));
}
