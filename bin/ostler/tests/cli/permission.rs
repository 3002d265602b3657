//! `ostler permission`, and permission rules in `ostler run`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::demo::DemoInstallation;
use crate::{ostler, stderr, stdout};

const RULES: &str = r#"# Mine.

# Pushing is for people.
[[rule]]
tool = "run_command"
arguments = { command = "git push **" }
verdict = "deny"
why = "pushing is for people"
tests = [{ arguments = { command = "ls; git push" }, applies = true }]

[[rule]]
category = "read"
verdict = "ask"
why = "curious"
"#;
const SCRIPT: &str = "rules:\n  - when: { user: push }\n    answer:\n      - call: run_command\n        with: { command: git push }\n      - \"{{ result }}\"\n  - when: { user: write }\n    answer:\n      - call: write_file\n        with: { path: a.txt, content: hello }\n      - \"wrote\"";

/// A home with rules, and a project.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir_all(fixture.path("project/.ostler")).expect("a folder");
        fs::create_dir(fixture.path("home")).expect("a folder");
        fixture.write("home/ostler.toml", "");
        fixture.write("home/permissions.toml", RULES);
        fixture.write("script.yaml", SCRIPT);
        fixture
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn args(&self, words: &[&str]) -> Vec<String> {
        let words = words.iter().map(|word| (*word).to_owned());
        let home = ["--home".to_owned(), self.path("home")];
        words.chain(home).chain(["--workspace".to_owned(), self.path("project")]).collect()
    }

    fn stdout(&self, words: &[&str]) -> String {
        let args = self.args(words);
        stdout(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.stdout(&[words, &["--json"]].concat())).expect("JSON")
    }

    /// Runs a prompt with these answers and returns what the terminal shows.
    fn run(&self, prompt: &str, answers: &str) -> String {
        self.run_with(prompt, answers, &[])
    }

    fn run_with(&self, prompt: &str, answers: &str, options: &[&str]) -> String {
        let script = self.path("script.yaml");
        let args = ["run", prompt, "--script", &script, "--no-web", "--thread", "new"];
        let mut child = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(self.args(&[&args, options].concat()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ostler runs");
        let mut input = child.stdin.take().expect("an input");
        input.write_all(answers.as_bytes()).expect("the answers are read");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8(output.stderr).expect("text")
    }
}

/// Z14: a call shows its verdict, the rung, and the rule with file and line.
#[test]
fn z14_a_tested_call_names_the_rule_that_decides() {
    let fixture = Fixture::new();
    let call = ["permission", "test", "run_command", r#"{"command": "git push"}"#];
    let file = Path::new(&fixture.path("home")).join("permissions.toml").display().to_string();
    let expected = json!({"scope": "user", "file": file, "line": 4,
        "why": "pushing is for people", "certainty": "applies"});
    let tested = fixture.json(&call);
    assert_eq!((&tested["tests"], &tested["failures"]), (&json!(1), &json!([])));
    assert_eq!(tested["call"]["rule"], expected);
    assert_eq!((&tested["call"]["verdict"], &tested["call"]["rung"]), (&json!("deny"), &json!(2)));
    let text = fixture.stdout(&call);
    assert!(text.contains("2 rules, 1 test: all hold"), "{text}");
    assert!(text.contains(&format!("rule at {file}:4: pushing is for people")), "{text}");
    assert!(text.contains("arguments = { command = \"git push\" }\nverdict = \"allow\""), "{text}");
    let listed = fixture.json(&["permission", "ls"]);
    let lines: Vec<_> = listed["rules"].as_array().expect("a list").iter().collect();
    assert_eq!((lines.len(), &lines[1]["category"]), (2, &json!("read")));
    let read = fixture.json(&["permission", "test", "read_file", r#"{"path": "a"}"#]);
    assert_eq!(read["call"]["rung"], 5);
}

/// Z14: a mistake in the file has a place; a rule that fails its tests has an exit code.
#[test]
fn z14_mistakes_in_a_permissions_file_have_a_place() {
    let fixture = Fixture::new();
    fixture
        .write("home/permissions.toml", &RULES.replace("verdict = \"ask\"", "verdikt = \"ask\""));
    let args = fixture.args(&["permission", "ls"]);
    let said = stderr(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.contains("permissions.toml:13:1: no key `verdikt`; did you mean `verdict`?"));
    fixture.write("home/permissions.toml", &RULES.replace("applies = true", "applies = false"));
    let args = fixture.args(&["permission", "test"]);
    let output = ostler(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("permissions.toml:9:10: the rule applies to this call, and must not"));
}

/// Z14: a question of a run names its rule, "always" writes one, and other rules are tried on
/// the calls that were made.
#[test]
fn z14_always_at_the_terminal_writes_a_rule_and_what_if_tries_others() {
    let fixture = Fixture::new();
    let said = fixture.run("push", "");
    assert!(said.contains("denied (rule at "), "{said}");
    assert!(said.contains("permissions.toml:4: pushing is for people)"), "{said}");
    let said = fixture.run("write", "a\nu 24h\n");
    assert!(said.contains("no rule, so it asks"), "{said}");
    assert!(said.contains("← write_file: ok"), "{said}");
    let written = fixture.read("home/permissions.toml");
    let rule = "\n[[rule]]\ntool = \"write_file\"\narguments = { content = \"hello\", path = \"a.txt\" }\nverdict = \"allow\"\nwhy = \"allowed when asked\"\nexpires = \"";
    assert!(written.starts_with(&format!("{RULES}{rule}")), "{written}");
    let again = fixture.run("write", "");
    assert!(!again.contains("Run it?") && again.contains("← write_file: ok"), "{again}");
    fixture.write("other.toml", RULES);
    let other = fixture.path("other.toml");
    let what_if = fixture.json(&["permission", "what-if", &other]);
    assert_eq!((&what_if["calls"], &what_if["changed"]), (&json!(3), &json!(2)));
    assert_eq!(what_if["counts"], json!({"write_file: allow → ask": 2}));
    assert_eq!(what_if["changes"][0]["now"]["rung"], 2);
    let text = fixture.stdout(&["permission", "what-if", &other]);
    assert!(text.starts_with("2 of 3 recorded calls would be decided differently"), "{text}");
}

/// Z14: other rules are also tried on the calls of subagents.
#[test]
fn z14_what_if_sees_the_calls_of_subagents() {
    let fixture = Fixture::new();
    let script = "rules:\n  - when: { agent: You write }\n    answer:\n      - call: write_file\n        with: { path: a.txt, content: hello }\n      - \"wrote\"\n  - when: { user: delegate }\n    answer:\n      - call: subagent\n        with: { agentType: writer, task: write it }\n      - \"done\"";
    fixture.write("script.yaml", script);
    fixture.write(
        "agents.toml",
        "[[subagent]]\nname = \"writer\"\ndescription = \"Writes\"\ninstructions = \"You write.\"\ntools = [\"write_file\"]\n",
    );
    let agents = fixture.path("agents.toml");
    fixture.run_with("delegate", "", &["--subagents", &agents, "--yes"]);
    fixture.write(
        "other.toml",
        "[[rule]]\ntool = \"write_file\"\nverdict = \"deny\"\nwhy = \"read only\"\n",
    );
    let what_if = fixture.json(&["permission", "what-if", &fixture.path("other.toml")]);
    assert_eq!(what_if["calls"], 2, "{what_if}");
    assert_eq!(what_if["counts"], json!({"write_file: ask → deny": 1}));
    assert_eq!(what_if["changes"][0]["subagent"], "writer");
}

/// Z14: the rules of a project only narrow until they are trusted.
#[test]
fn z14_a_project_has_to_be_trusted_to_allow() {
    let fixture = Fixture::new();
    let allow = "[[rule]]\ntool = \"run_command\"\nverdict = \"allow\"\nwhy = \"ours\"\n";
    fixture.write("project/.ostler/permissions.toml", allow);
    let call = ["permission", "test", "run_command", r#"{"command": "make"}"#];
    assert_eq!(fixture.json(&call)["call"]["verdict"], "ask");
    let text = fixture.stdout(&["permission", "trust"]);
    assert!(text.contains("(1 rule), written to"), "{text}");
    assert_eq!(fixture.json(&call)["call"]["verdict"], "allow");
    fixture.write("project/.ostler/permissions.toml", &format!("{allow}# changed\n"));
    assert_eq!(fixture.json(&call)["call"]["verdict"], "ask");
}

#[test]
fn the_schema_of_permissions_files_is_printed() {
    let schema: Value = serde_json::from_str(&stdout(&["schema", "--permissions"])).expect("JSON");
    assert_eq!(schema["title"], "Ostler permissions");
}

/// Z14: an approval of a conversation shows the setting that asks, who set it and when, and
/// the command that would let such calls run.
#[test]
fn z14_an_approval_shows_who_set_its_rule() {
    let demo = DemoInstallation::new();
    let waiting = demo.json(&["approval", "ls", "--org", "bella"]);
    let id = waiting[0]["id"].as_str().expect("an approval").to_owned();
    let show = ["approval", "show", &id, "--org", "bella"];
    let rule = demo.json(&show)["rule"]["setting"].clone();
    assert_eq!(rule["field"], "autonomy", "{rule}");
    let resource = rule["resource"].as_str().expect("a resource").to_owned();
    let slug = resource.rsplit('/').next().expect("a slug");
    let allow = format!("ostler agent set {slug} --org bella autonomy=autonomous");
    assert_eq!(rule["allow_with"], allow);
    demo.run(&["agent", "set", slug, "--org", "bella", "autonomy=draft_only"]);
    let rule = demo.json(&show)["rule"]["setting"].clone();
    assert_eq!(rule["set_by"], "terminal", "{rule}");
    assert!(rule["set_at"].is_string(), "{rule}");
    let text = demo.run(&show);
    assert!(text.contains(&format!("autonomy of {resource}, set by terminal")), "{text}");
    assert!(text.contains(&allow), "{text}");
}

/// Z14: a removed tool, and a call that was refused or waits, name the setting, who set it and
/// when, the file and line it was applied from, the smallest change and the past calls.
#[test]
fn z14_tools_and_sessions_name_who_set_a_rule() {
    let demo = DemoInstallation::new();
    let explain = |agent: &str, tool: &str| {
        let args = ["tools", "explain", "--agent", agent, "--org", "bella", "--tool", tool];
        (demo.json(&args)["tools"][0]["setting"].clone(), demo.run(&args))
    };
    let waiting = demo.json(&["approval", "ls", "--org", "bella"]);
    let tool = waiting[0]["tool"].as_str().expect("a tool").to_owned();
    let id = waiting[0]["id"].as_str().expect("an approval");
    let shown = demo.json(&["approval", "show", id, "--org", "bella"]);
    let rule = shown["rule"]["setting"].clone();
    let agent = rule["resource"].as_str().expect("a resource").rsplit('/').next().expect("a slug");
    // What waits is a past call for the tool, and not for the approval itself.
    let (setting, text) = explain(agent, &tool);
    assert_eq!(setting["field"], "autonomy", "{setting}");
    let past = |rule: &Value| rule["past_calls"].as_u64().expect("a number");
    assert_eq!(past(&setting), past(&rule) + 1);
    assert!(text.contains("ostler agent set"), "{text}");
    // A policy of the org, set by a command.
    demo.run(&["policy", "set", "--org", "bella", "--deny", &tool, "--yes"]);
    let (setting, text) = explain(agent, &tool);
    let allow = format!("ostler policy set --org bella --remove {tool}");
    assert_eq!(setting["allow_with"], allow, "{setting}");
    assert_eq!((&setting["set_by"], &setting["place"]), (&json!("terminal"), &Value::Null));
    assert!(text.contains("tools.deny of org bella, set by terminal"), "{text}");
    assert!(text.contains(&allow), "{text}");
    // The same from a file, with its line.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules.toml").display().to_string();
    fs::write(&file, format!("[platform]\ntools.deny = [\n  \"{tool}\",\n]\n")).expect("a file");
    demo.run(&["apply", &file, "--yes"]);
    let (setting, text) = explain(agent, &tool);
    assert_eq!(setting["resource"], "platform", "{setting}");
    assert_eq!(setting["place"], format!("{file}:2"), "{setting}");
    assert!(text.contains(&format!(", {file}:2")), "{text}");
    // The session shows the rule that was in force then.
    let session = waiting[0]["session"].as_str().expect("a session");
    let shown = demo.json(&["session", "show", session, "--org", "bella"]);
    let rules = shown["rules"].as_array().expect("a list");
    let described = format!("autonomy of agent bella/{agent}, ");
    let found = rules.iter().find(|one| one["tool"] == tool.as_str()).expect("the call");
    assert!(found["rule"].as_str().is_some_and(|rule| rule.starts_with(&described)), "{found}");
    let text = demo.run(&["session", "show", session, "--org", "bella"]);
    assert!(text.contains(&format!("rule: {described}")), "{text}");
}
