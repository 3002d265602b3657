use std::process::Output;

use serde_json::Value;

use crate::ostler;

const SCRIPT: &str = "examples/scripts/support.yaml";

fn run(args: &[&str]) -> Output {
    ostler(&[&["run"], args].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_prompt_is_answered_from_a_script() {
    let output = run(&["hello", "--script", SCRIPT]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "Welcome to Bella Pizza! What can I do for you?\n");
    assert!(text(&output.stderr).contains(", 1 credit"), "{}", text(&output.stderr));
}

/// M29: a call of an unknown tool is denied, and the run shows the decision.
#[test]
fn m29_the_events_of_a_run_are_lines_of_json() {
    let output = run(&["Where is order 7?", "--script", SCRIPT, "--json"]);
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let named = |name: &str| lines.iter().filter(|line| line["type"] == name).count();
    assert_eq!((named("tool_end"), named("agent_end"), named("summary")), (1, 1, 1));
    let denied = lines.iter().find(|line| line["type"] == "tool_end").expect("a result");
    assert_eq!(denied["ext"]["status"], "unknown_tool");
    let last = lines.last().expect("a last line");
    assert_eq!((&last["type"], &last["end"]["end"]), (&"summary".into(), &"answer".into()));
}

#[test]
fn missing_models_keys_and_files_are_errors_with_what_to_do() {
    let check = |args: &[&str], code: i32, expected: &str| {
        let output = run(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
    };
    check(&["hello"], 1, "name one with --model");
    check(&["hello", "--model", "openai/gpt-5"], 1, "OPENAI_API_KEY");
    check(&["hello", "--model", "nobody/x"], 1, "models are named `provider/model`");
    check(&["hello", "--script", "no-such-file.yaml"], 1, "no-such-file.yaml");
    check(&["hello", "--script", SCRIPT, "--credits", "0"], 4, "raise the limit with --credits");
    check(&["hello", "--script", SCRIPT, "--mcp", "no-such-program"], 1, "no-such-program");
    check(
        &["hello", "--model", "m", "--url", "http://127.0.0.1:9", "--no-web"],
        1,
        "No answer: local/m",
    );
}

/// M24: a run can keep its thread and go on with it; the prompt may come from a pipe.
#[test]
fn m24_a_run_goes_on_with_a_kept_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let (script, threads) = (folder.path().join("s.yaml"), folder.path().join("threads.db"));
    let rules = "rules:\n  - when: { user: again, turn: 2 }\n    answer: second\ndefault: first";
    std::fs::write(&script, rules).expect("written");
    let (script, threads) = (script.to_str().expect("text"), threads.to_str().expect("text"));
    let more = ["--script", script, "--threads", threads, "--no-web"];
    let first = run(&[&["hello", "--thread", "new", "--json"], &more[..]].concat());
    let summary = text(&first.stdout).lines().last().map(serde_json::from_str::<Value>);
    let summary = summary.expect("a line").expect("JSON");
    let thread = summary["threadId"].as_str().expect("an id").to_owned();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["run", "-", "--thread", &thread])
        .args(more)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("ostler runs");
    let mut input = child.stdin.take().expect("its input");
    std::io::Write::write_all(&mut input, b"again").expect("written");
    drop(input);
    let second = child.wait_with_output().expect("it ends");
    assert_eq!(text(&second.stdout), "second\n");
    let nothing = run(&[&["--resume", "--thread", &thread], &more[..]].concat());
    assert!(text(&nothing.stderr).contains("nothing to resume"), "{}", text(&nothing.stderr));
}

/// A cut-off answer is said and has an exit code; a pipe gets no discarded draft.
#[test]
fn a_cut_off_answer_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("s.yaml");
    std::fs::write(&script, "default: { text: Once upon, stop: max_tokens }").expect("written");
    let script = script.to_str().expect("text");
    let output = run(&["hello", "--script", script, "--no-web"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("cut off"), "{}", text(&output.stderr));
}
