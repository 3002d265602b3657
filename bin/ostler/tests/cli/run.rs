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
    let named = |name: &str| lines.iter().filter(|line| line["event"] == name).count();
    assert_eq!((named("decided"), named("agent_end"), named("summary")), (1, 1, 1));
    let last = lines.last().expect("a last line");
    assert_eq!(last["decisions"][0]["verdict"]["decision"], "deny");
    assert_eq!(last["steps"], 2);
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
    check(&["hello", "--script", SCRIPT, "--mcp", "no-such-program"], 0, "no-such-program");
    check(
        &["hello", "--model", "m", "--url", "http://127.0.0.1:9", "--no-web"],
        1,
        "No answer: local/m",
    );
}
