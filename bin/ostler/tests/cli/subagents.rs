//! Subagents of `ostler run`, and runs that are stopped.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::mock_model::Server;
use crate::{stderr, stdout};

const AGENTS: &str = r#"
[[subagent]]
name = "worker"
description = "works"
instructions = "You work."
tools = ["web_fetch"]

[[subagent]]
name = "own"
description = "has a model of its own"
instructions = "You work."
default_model = "local/own"

[[subagent]]
name = "set"
description = "has another one set"
instructions = "You work."
default_model = "local/own"

[models]
set = "local/set"
"#;

/// Writes a file for one test.
fn file(name: &str, text: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the file is written");
    path.to_str().expect("a plain path").to_owned()
}

/// M06: without subagents there is no tool to call them.
#[test]
fn m06_the_subagent_tool_is_offered_only_with_subagents() {
    let script = "rules:\n  - when: { offered: subagent }\n    answer: There is.\ndefault: No.\n";
    let script = file("m06.yaml", script);
    let (agents, none) = (file("m06.toml", AGENTS), file("m06-none.toml", ""));
    let said = |more: &[&str]| stdout(&[&["run", "hi", "--script", &script], more].concat());
    assert_eq!(said(&[]), "No.\n");
    assert_eq!(said(&["--subagents", &none]), "No.\n");
    assert_eq!(said(&["--subagents", &agents]), "There is.\n");
}

#[test]
fn invalid_subagent_files_are_errors() {
    let script = file("bad-subagents.yaml", "default: No.\n");
    let check = |name: &str, text: &str, expected: &str| {
        let agents = file(name, text);
        let said = stderr(&["run", "hi", "--script", &script, "--subagents", &agents]);
        assert!(said.contains(expected) && said.contains(name), "{said}");
    };
    check("bad-1.toml", "[[subagent]]\nname = 'x'\n", "description");
    let without = AGENTS.replace("web_fetch", "fly");
    check("bad-2.toml", &without, "is given the tool `fly`, which does not exist");
    check("bad-3.toml", "[models]\nx = 'y'\n", "a model is set for the subagent `x`");
    let said = stderr(&["run", "hi", "--script", &script, "--subagents", "nowhere.toml"]);
    assert!(said.contains("cannot read nowhere.toml"), "{said}");
}

/// M48: the file limits what a task of a subagent may cost; the agent that gave it goes on.
#[test]
fn m48_a_file_limits_what_a_task_may_cost() {
    let script = "price: { input: 1000, output: 1000 }\nrules:\n  - when: { agent: You work }\n    answer: worked\n  - when: { user: go }\n    answer:\n      - call: subagent\n        with: { agentType: worker, task: x }\n      - \"{{ result }}\"\n";
    let script = file("m48.yaml", script);
    let said = |name: &str, agents: &str| {
        let agents = file(name, agents);
        let more = ["--script", &script, "--subagents", &agents, "--credits", "100000"];
        stdout(&[&["run", "go"], &more[..]].concat())
    };
    let free = said("m48-free.toml", AGENTS);
    assert!(free.starts_with("worked\n"), "{free}");
    let limited = said("m48.toml", &AGENTS.replacen("\"]\n", "\"]\nmax_credits = 1\n", 1));
    assert!(limited.contains("it has spent what one task may cost"), "{limited}");
}

/// M07: the model of a subagent comes from the call, else from the models of the file,
/// else from the subagent, else from the run.
#[test]
fn m07_the_call_the_file_and_the_run_set_the_model_in_this_order() {
    let model = |name: &str| {
        format!("  - when: {{ agent: You work, model: {name} }}\n    answer: I am {name}.\n")
    };
    let script = format!(
        "rules:\n{}  - when: {{ user: {{ regex: 'ask (?<kind>\\w+) (?<model>\\S*)' }} }}\n    \
         answer:\n      - call: subagent\n        with: {{ agentType: '{{{{ kind }}}}', task: work, \
         modelId: '{{{{ model }}}}' }}\n      - 'It says: {{{{ result }}}}'\n",
        ["called", "set", "own", "main"].map(model).concat()
    );
    let (_server, address) = Server::start(&file("m07.yaml", &script));
    let (agents, url) = (file("m07.toml", AGENTS), format!("http://{address}/v1"));
    let check = |prompt: &str, expected: &str| {
        let args = ["run", prompt, "--url", &url, "--model", "main", "--subagents", &agents];
        let said = stdout(&args);
        assert!(said.contains(&format!("It says: I am {expected}.")), "{prompt}: {said}");
        assert!(said.contains(&format!("\"modelId\":\"local/{expected}\"")), "{prompt}: {said}");
    };
    check("ask set local/called", "called");
    check("ask set ", "set");
    check("ask own ", "own");
    check("ask worker ", "main");
}

/// A run whose events are read while it runs.
struct RunningRun {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for RunningRun {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RunningRun {
    fn start(script: &str, agents: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["run", "go", "--json", "--script", script, "--subagents", agents])
            .stdout(Stdio::piped())
            .spawn()
            .expect("ostler runs");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.expect("a line");
        Some(serde_json::from_str(&line).expect("a line of JSON"))
    }

    /// Reads events until one of this kind.
    fn until(&mut self, event: &str) -> Value {
        loop {
            let line = self.next().expect("the run goes on");
            if line["type"] == event {
                return line;
            }
        }
    }

    /// Stops the run as Ctrl-C does, and returns the remaining events and the exit code.
    fn stop(mut self) -> (Vec<Value>, Option<i32>) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &process]).status().expect("kill runs");
        assert!(sent.success());
        let rest = std::iter::from_fn(|| self.next()).collect();
        (rest, self.child.wait().expect("it ends").code())
    }
}

/// M09: the start of a subagent, its actions and its end are events in this order, each
/// with the path of the subagent.
#[test]
fn m09_subagent_events_come_in_order_with_their_path() {
    let script = "
rules:
  - when: { agent: You work, step: 1 }
    answer: { call: web_fetch, with: { url: 'http://127.0.0.1:9/' } }
  - when: { agent: You work, step: 2 }
    answer: Nothing there.
  - when: { user: go }
    answer:
      - call: subagent
        with: { agentType: worker, task: look there }
      - 'It says: {{ result }}'
";
    let mut run = RunningRun::start(&file("m09.yaml", script), &file("m09.toml", AGENTS));
    let all: Vec<Value> = std::iter::from_fn(|| run.next()).collect();
    let inside: Vec<&Value> = all.iter().filter(|line| !line["ext"]["path"].is_null()).collect();
    let named: Vec<&str> = inside.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(
        named,
        [
            "subagent_start",
            "usage_update",
            "tool_start",
            "tool_end",
            "subagent_text",
            "usage_update",
            "subagent_end"
        ]
    );
    let [start, end] = [inside[0], inside[6]];
    assert_eq!((&start["agentType"], &start["task"]), (&"worker".into(), &"look there".into()));
    assert_eq!((&end["agentType"], &end["ext"]["path"]), (&"worker".into(), &start["ext"]["path"]));
    assert!(end["durationMs"].is_u64(), "{end}");
    assert_eq!(inside[2]["toolName"], "web_fetch");
    let last = all.iter().find(|line| line["type"] == "agent_end").expect("an end");
    assert_eq!(last["reason"], "complete");
}

/// M09, M30: stopping a run ends the running tool call and its subagent.
#[test]
fn m09_stopping_a_run_ends_its_subagent() {
    let script = "
rules:
  - when: { agent: You work }
    answer: { text: never, delay: 600s }
  - when: { user: go }
    answer: { call: subagent, with: { agentType: worker, task: wait } }
";
    let mut run = RunningRun::start(&file("m09-stop.yaml", script), &file("m09-stop.toml", AGENTS));
    assert_eq!(run.until("subagent_start")["agentType"], "worker");
    let (rest, code) = run.stop();
    let named: Vec<&str> = rest.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(
        (named, code),
        (vec!["subagent_end", "tool_end", "agent_end", "summary"], Some(130))
    );
    let ended = &rest[1]["ext"];
    assert_eq!((&ended["toolName"], &ended["status"]), (&"subagent".into(), &"aborted".into()));
    assert_eq!(rest[2]["reason"], "aborted");
}

/// M30: a run that is stopped while it answers keeps its text and marks it as partial.
#[test]
fn m30_a_stopped_run_keeps_its_partial_text() {
    let script = "default: { text: One two three, chunk: 4, pause: 600s }\n";
    let mut run = RunningRun::start(&file("m30.yaml", script), &file("m30.toml", AGENTS));
    assert_eq!(run.until("message_update")["ext"]["delta"], "One ");
    let (rest, code) = run.stop();
    let [said, end, summary] = rest.as_slice() else { panic!("{rest:?}") };
    assert_eq!((&end["type"], &end["reason"]), (&"agent_end".into(), &"aborted".into()));
    assert_eq!((&summary["type"], code), (&"summary".into(), Some(130)));
    let message = &said["message"];
    assert_eq!(message["content"][0]["text"], "One ", "{said}");
    assert_eq!(message["partial"], true, "{said}");
}
