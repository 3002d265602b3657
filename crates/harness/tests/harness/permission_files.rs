//! Permissions files: every question names its rule, and "always" writes one.

use std::path::{Path, PathBuf};

use ostler_domain::tool::{ToolCategory, ToolName};
use ostler_harness::{
    AlwaysAllow, ApprovalResponse, Harness, HarnessBuilder, HarnessError, HarnessSubagent, NoState,
    PROJECT_PERMISSIONS, PermissionFiles, RuleScope, Subscription,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Counter, builder, names, ready, wait_for};

const SCRIPT: &str = "rules:\n  - when: { agent: You dig }\n    answer:\n      - call: note\n        with: { text: deep }\n      - \"{{ result }}\"\n  - when: { agent: You explore }\n    answer:\n      - call: subagent\n        with: { agentType: dig, task: dig }\n      - \"{{ result }}\"\n  - when: { user: delegate }\n    answer:\n      - call: subagent\n        with: { agentType: explore, task: look }\n      - \"{{ result }}\"\n  - when: { user: remote }\n    answer:\n      - call: mcp__box__put\n        with: { text: milk }\n      - \"{{ result }}\"\n  - when: { user: tea }\n    answer:\n      - call: note\n        with: { text: tea }\n      - \"{{ result }}\"\n  - when: { user: go }\n    answer:\n      - call: note\n        with: { text: milk }\n      - \"{{ result }}\"";
const ASK_ABOUT_MILK: &str = "# My rules.\n\n# Milk is dear.\n[[rule]]\ntool = \"note\"\narguments = { text = \"mi*\" }\nverdict = \"ask\"\nwhy = \"milk is dear\"\n";

/// The files of a user and a project.
struct Files {
    user: TempDir,
    project: TempDir,
}

impl Files {
    fn new(user: &str) -> Self {
        let files = Self { user: TempDir::new().unwrap(), project: TempDir::new().unwrap() };
        files.write_user(user);
        files
    }

    fn user_file(&self) -> PathBuf {
        self.user.path().join("permissions.toml")
    }

    fn project_file(&self) -> PathBuf {
        self.project.path().join(PROJECT_PERMISSIONS)
    }

    fn write_user(&self, text: &str) {
        write(&self.user_file(), text);
    }

    fn write_project(&self, text: &str) {
        write(&self.project_file(), text);
    }

    fn places(&self) -> PermissionFiles {
        PermissionFiles {
            user: Some(self.user_file()),
            project: Some(self.project.path().to_owned()),
        }
    }

    async fn builder(&self) -> HarnessBuilder<NoState> {
        builder(SCRIPT).await.permission_files(self.places())
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Sends a message and returns the question that follows.
async fn ask(harness: &Harness, events: &mut Subscription, message: &'static str) -> Value {
    let sender = harness.clone();
    tokio::spawn(async move { sender.send_message(message).await });
    wait_for(events, "tool_approval_required").await
}

async fn answer(
    harness: &Harness,
    events: &mut Subscription,
    asked: &Value,
    response: ApprovalResponse,
) -> Result<(), HarnessError> {
    let id = asked["toolCallId"].as_str().unwrap();
    harness.respond_to_tool_approval(id, response).await?;
    wait_for(events, "agent_end").await;
    Ok(())
}

/// Z14: a question names the rule, its file and its line, also of a subagent of a subagent
/// and of an MCP tool.
#[tokio::test]
async fn z14_every_question_names_its_rule_file_and_line() {
    let mcp = "[[rule]]\ncategory = \"mcp\"\nverdict = \"ask\"\nwhy = \"not ours\"\n";
    let deep = "[[rule]]\ntool = \"no*\"\nverdict = \"ask\"\nwhy = \"all notes\"\n";
    let files = Files::new(&format!("{ASK_ABOUT_MILK}{mcp}{deep}"));
    let note = Counter::new("note", ToolCategory::Edit);
    let dig = HarnessSubagent {
        allowed_harness_tools: vec![ToolName::from_static("note")],
        ..HarnessSubagent::new("dig", "Digs", "You dig.")
    };
    let explore = HarnessSubagent {
        allowed_harness_tools: vec![
            ToolName::from_static("note"),
            ToolName::from_static("subagent"),
        ],
        ..HarnessSubagent::new("explore", "Looks around", "You explore.")
    };
    let remote = Counter::new("mcp__box__put", ToolCategory::Mcp);
    let builder = files.builder().await.tool(note).tool(remote).subagent(explore).subagent(dig);
    let (harness, mut events) = ready(builder).await;
    let name = files.user_file().display().to_string();
    for (message, line, why, rung, depth) in [
        ("go", 4, "milk is dear", 2, 0),
        ("remote", 9, "not ours", 5, 0),
        ("delegate", 13, "all notes", 2, 2),
    ] {
        let asked = ask(&harness, &mut events, message).await;
        let rule = json!({"scope": "user", "file": name, "line": line, "why": why,
            "certainty": "applies"});
        let ext = &asked["ext"];
        assert_eq!((&ext["rule"], &ext["rung"]), (&rule, &json!(rung)), "{message}");
        assert_eq!(ext["why"], format!("rule at {name}:{line}: {why}"));
        assert_eq!(ext["path"].as_array().map_or(0, Vec::len), depth, "{message}");
        let decline = ApprovalResponse::Decline { reason: None };
        answer(&harness, &mut events, &asked, decline).await.unwrap();
    }
}

/// Z14: a refusal names its rule.
#[tokio::test]
async fn z14_a_refusal_names_its_rule() {
    let files = Files::new(&ASK_ABOUT_MILK.replace("\"ask\"", "\"deny\""));
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
    harness.send_message("go").await.unwrap();
    let ended = wait_for(&mut events, "tool_end").await;
    assert_eq!(ended["ext"]["rule"]["line"], 4);
    assert_eq!(ended["ext"]["rule"]["file"], files.user_file().display().to_string());
    assert_eq!(note.count(), 0);
}

/// Z14: "always" writes the narrowest rule before the one that asked, and keeps the rest of
/// the file; the next call of this kind runs, any other asks.
#[tokio::test]
async fn z14_always_allow_writes_the_narrowest_rule() {
    let files = Files::new(ASK_ABOUT_MILK);
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
    let asked = ask(&harness, &mut events, "go").await;
    let rule = "[[rule]]\ntool = \"note\"\narguments = { text = \"milk\" }\nverdict = \"allow\"\nwhy = \"allowed when asked\"\n";
    let proposal = json!({"tool": "note", "arguments": {"text": "milk"}, "toml": rule,
        "scopes": ["session", "user"], "pastCalls": 0});
    assert_eq!(asked["ext"]["always"], proposal);
    let id = asked["toolCallId"].as_str().unwrap();
    assert_eq!(json!(harness.rule_proposal(id).await), proposal);
    let always = ApprovalResponse::AlwaysAllow(AlwaysAllow::proposed(RuleScope::User));
    answer(&harness, &mut events, &asked, always).await.unwrap();
    assert_eq!(note.count(), 1);
    let written = std::fs::read_to_string(files.user_file()).unwrap();
    let expected = ASK_ABOUT_MILK.replace("# Milk is dear", &format!("{rule}\n# Milk is dear"));
    assert_eq!(written, expected);
    names(&mut events);
    harness.send_message("go").await.unwrap();
    assert!(!names(&mut events).contains(&"tool_approval_required".to_owned()));
    assert_eq!(note.count(), 2);
    let other = ask(&harness, &mut events, "tea").await;
    assert_eq!(other["ext"]["rung"], 6);
    // In a new harness the rule still holds.
    let (later, _) = ready(files.builder().await.tool(note.clone())).await;
    later.send_message("go").await.unwrap();
    assert_eq!(note.count(), 3);
}

/// Z14: a proposed rule says how many earlier calls it covers, in the event and when asked.
#[tokio::test]
async fn z14_a_proposed_rule_counts_the_calls_that_it_covers() {
    let files = Files::new(ASK_ABOUT_MILK);
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
    for (message, covered) in [("go", 0), ("tea", 0), ("go", 1), ("go", 2)] {
        let asked = ask(&harness, &mut events, message).await;
        assert_eq!(asked["ext"]["always"]["pastCalls"], covered, "{message}");
        let id = asked["toolCallId"].as_str().unwrap();
        let proposal = harness.rule_proposal(id).await.unwrap();
        assert_eq!(json!(proposal), asked["ext"]["always"], "{message}");
        answer(&harness, &mut events, &asked, ApprovalResponse::Approve).await.unwrap();
    }
}

/// Z14: a rule is written into the file as it is by then: a writer waits for another one, and
/// keeps what it has written.
#[tokio::test(flavor = "multi_thread")]
async fn z14_two_writers_of_a_permissions_file_keep_each_others_rules() {
    let files = Files::new(ASK_ABOUT_MILK);
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
    let asked = ask(&harness, &mut events, "go").await;
    let lock = std::fs::File::create(files.user.path().join("permissions.toml.lock")).unwrap();
    lock.lock().unwrap();
    let always = ApprovalResponse::AlwaysAllow(AlwaysAllow::proposed(RuleScope::User));
    let answered = tokio::spawn(async move {
        answer(&harness, &mut events, &asked, always).await.unwrap();
    });
    let text = std::fs::read_to_string(files.user_file()).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let other = "[[rule]]\ntool = \"other\"\nverdict = \"deny\"\nwhy = \"by another program\"\n\n";
    files.write_user(&format!("{other}{text}"));
    drop(lock);
    answered.await.unwrap();
    let written = std::fs::read_to_string(files.user_file()).unwrap();
    let rule = "[[rule]]\ntool = \"note\"\narguments = { text = \"milk\" }\nverdict = \"allow\"\nwhy = \"allowed when asked\"\n";
    let expected = ASK_ABOUT_MILK.replace("# Milk is dear", &format!("{rule}\n# Milk is dear"));
    assert_eq!(written, format!("{other}{expected}"));
    assert_eq!(note.count(), 1);
}

/// Z14: the rule can be edited and has a scope and an expiry; one that would not allow the
/// call is refused, and the question stays open.
#[tokio::test]
async fn z14_an_edited_rule_is_checked_before_it_is_written() {
    let files = Files::new("");
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
    let asked = ask(&harness, &mut events, "go").await;
    let edited = |arguments: Value| AlwaysAllow {
        arguments: Some(arguments),
        ..AlwaysAllow::proposed(RuleScope::Session)
    };
    for (arguments, valid_rule) in [(json!({"text": "bread"}), true), (json!([]), false)] {
        let response = ApprovalResponse::AlwaysAllow(edited(arguments));
        let refused = answer(&harness, &mut events, &asked, response).await;
        assert_eq!(matches!(refused, Err(HarnessError::RuleCannotAnswer)), valid_rule);
    }
    assert_eq!((note.count(), harness.open_asks().await.len()), (0, 1));
    let response = ApprovalResponse::AlwaysAllow(edited(json!({"text": "*"})));
    answer(&harness, &mut events, &asked, response).await.unwrap();
    harness.send_message("tea").await.unwrap();
    assert_eq!(note.count(), 2);
    assert_eq!(std::fs::read_to_string(files.user_file()).unwrap(), "");
    // A rule of the session ends with it.
    let (later, mut events) = ready(files.builder().await.tool(note.clone())).await;
    let asked = ask(&later, &mut events, "go").await;
    let soon = ostler_domain::time::Timestamp::from_millis(i64::MAX / 1_000_000);
    let expiring = AlwaysAllow {
        why: Some("this week".into()),
        expires: Some(soon),
        ..AlwaysAllow::proposed(RuleScope::Project)
    };
    let response = ApprovalResponse::AlwaysAllow(expiring);
    answer(&later, &mut events, &asked, response).await.unwrap();
    let written = std::fs::read_to_string(files.project_file()).unwrap();
    assert!(written.contains("why = \"this week\"\nexpires = \""), "{written}");
    assert!(std::fs::read_to_string(files.user_file()).unwrap().contains("[[trust]]"));
    let (last, _) = ready(files.builder().await.tool(note.clone())).await;
    last.send_message("go").await.unwrap();
    assert_eq!(note.count(), 4);
}

/// Z14: a changed file holds from the next turn; one that is wrong changes nothing, and says
/// where it is wrong.
#[tokio::test]
async fn z14_the_last_good_file_stays_in_force() {
    let files = Files::new(&ASK_ABOUT_MILK.replace("\"ask\"", "\"allow\""));
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
    let loaded = wait_for(&mut events, "permission_rules_loaded").await;
    assert_eq!((&loaded["rules"], &loaded["notes"]), (&json!(1), &json!([])));
    harness.send_message("go").await.unwrap();
    files.write_user(&format!("{ASK_ABOUT_MILK}verdikt = 1\n"));
    names(&mut events);
    harness.send_message("go").await.unwrap();
    assert_eq!(note.count(), 2);
    files.write_user(&ASK_ABOUT_MILK.replace("\"ask\"", "\"deny\""));
    harness.send_message("go").await.unwrap();
    assert_eq!(note.count(), 2);
    let mut notes = Vec::new();
    while let Some(event) = events.try_next() {
        let event = crate::support::to_json(&event);
        if event["type"] == "permission_rules_loaded" {
            notes.push(event["notes"].to_string());
        }
    }
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("permissions.toml:9:1: no key `verdikt`; did you mean `verdict`?"));
    assert!(notes[0].contains("The rules that were read before stay in force."));
    files.write_user("[[rule]]\n");
    let first = files.builder().await.build().unwrap();
    assert!(matches!(first.init().await, Err(HarnessError::PermissionFile(_))));
}

/// Z14: a rule that fails its own tests is refused: one that allows has no effect, one that
/// denies asks; the rest holds.
#[tokio::test]
async fn z14_a_rule_that_fails_its_tests_never_allows() {
    let broken = "tests = [{ arguments = { text = \"tea\" }, applies = true }]\n";
    for verdict in ["allow", "deny"] {
        let rule = ASK_ABOUT_MILK.replace("\"ask\"", &format!("\"{verdict}\""));
        let rest = "[[rule]]\ntool = \"note\"\narguments = { text = \"tea\" }\nverdict = \"allow\"\nwhy = \"tea\"\n";
        let files = Files::new(&format!("{rule}{broken}{rest}"));
        let note = Counter::new("note", ToolCategory::Edit);
        let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
        let loaded = wait_for(&mut events, "permission_rules_loaded").await;
        let note_text = loaded["notes"][0].as_str().unwrap();
        assert!(note_text.contains(":9:"), "{note_text}");
        let asked = ask(&harness, &mut events, "go").await;
        let is_broken = asked["ext"]["rule"]["certainty"] == "fails_tests";
        assert_eq!(is_broken, verdict == "deny", "{asked}");
        if verdict == "allow" {
            let decline = ApprovalResponse::Decline { reason: None };
            answer(&harness, &mut events, &asked, decline).await.unwrap();
            harness.send_message("tea").await.unwrap();
            assert_eq!(note.count(), 1);
        }
    }
}

/// Z14: the file of a project only narrows until the user trusts exactly this content, and a
/// change of it while an agent works changes nothing.
#[tokio::test]
async fn z14_a_project_is_trusted_by_its_content() {
    let files = Files::new("");
    let allow = ASK_ABOUT_MILK.replace("\"ask\"", "\"allow\"");
    files.write_project(&allow);
    let note = Counter::new("note", ToolCategory::Edit);
    let (harness, mut events) = ready(files.builder().await.tool(note.clone())).await;
    let loaded = wait_for(&mut events, "permission_rules_loaded").await;
    assert!(loaded["notes"][0].as_str().unwrap().contains("is not trusted"), "{loaded}");
    let asked = ask(&harness, &mut events, "go").await;
    assert_eq!(asked["ext"]["always"]["scopes"], json!(["session", "user"]));
    files.places().trust_project().unwrap();
    let (trusting, mut events) = ready(files.builder().await.tool(note.clone())).await;
    trusting.send_message("go").await.unwrap();
    assert_eq!(note.count(), 1);
    // An agent widens the file; the rules that were read first stay.
    files.write_project("[[rule]]\ntool = \"**\"\nverdict = \"allow\"\nwhy = \"mine\"\n");
    names(&mut events);
    let asked = ask(&trusting, &mut events, "tea").await;
    assert_eq!(asked["ext"]["rung"], 6);
    // So does a deny rule whose file is deleted.
    files.write_project(&ASK_ABOUT_MILK.replace("\"ask\"", "\"deny\""));
    let (denying, _) = ready(files.builder().await.tool(note.clone())).await;
    std::fs::remove_file(files.project_file()).unwrap();
    denying.send_message("go").await.unwrap();
    assert_eq!(note.count(), 1);
}

/// Z14: a user's file in the workspace, where agents can write, never allows.
#[tokio::test]
async fn z14_a_file_in_the_workspace_never_allows() {
    let files = Files::new(&ASK_ABOUT_MILK.replace("\"ask\"", "\"allow\""));
    let inside = PermissionFiles { project: Some(files.user.path().to_owned()), ..files.places() };
    let note = Counter::new("note", ToolCategory::Edit);
    let builder = builder(SCRIPT).await.permission_files(inside).tool(note.clone());
    let (harness, mut events) = ready(builder).await;
    let asked = ask(&harness, &mut events, "go").await;
    assert_eq!((&asked["ext"]["rung"], note.count()), (&json!(6), 0));
}
