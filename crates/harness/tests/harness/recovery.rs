//! Kills: what waits survives, and goes on exactly once.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ostler_domain::tool::ToolCategory;
use ostler_harness::{
    ApprovalResponse, EndReason, Harness, HarnessError, HarnessSubagent, open_storage,
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::support::{Counter, builder_on, ready, take_over, wait_for};

const DATABASE: &str = "OSTLER_HARNESS_TEST_DATABASE";
const MESSAGE: &str = "OSTLER_HARNESS_TEST_MESSAGE";
const SCRIPT: &str = "rules:\n  - when: { user: question }\n    answer:\n      - call: ask_user\n        with: { question: Well? }\n      - \"answered {{ result }}\"\n  - when: { agent: Level three }\n    answer:\n      - call: note\n        with: { text: deep }\n      - \"three: {{ result }}\"\n  - when: { agent: Level two }\n    answer:\n      - call: subagent\n        with: { agentType: three, task: go }\n      - two done\n  - when: { agent: Level one }\n    answer:\n      - call: subagent\n        with: { agentType: two, task: go }\n      - one done\n  - when: { user: deep }\n    answer:\n      - call: subagent\n        with: { agentType: one, task: go }\n      - all done\n  - when: { user: note }\n    answer:\n      - call: note\n        with: { text: milk }\n      - \"{{ result }}\"\n  - when: { user: { is: slow } }\n    answer: { text: \"One two three four five six\", chunk: 3, pause: 200ms }\ndefault: \"You said: {{ user }}\"";

fn level(id: &str, instructions: &str, tools: &[&'static str]) -> HarnessSubagent {
    HarnessSubagent {
        allowed_harness_tools: tools
            .iter()
            .map(|tool| ostler_domain::tool::ToolName::from_static(tool))
            .collect(),
        ..HarnessSubagent::new(id, "Goes deeper", instructions)
    }
}

async fn open(database: &Path) -> (Harness, ostler_harness::Subscription, std::sync::Arc<Counter>) {
    let url = format!("sqlite:{}", database.display());
    let note = Counter::new("note", ToolCategory::Edit);
    let builder = builder_on(open_storage(&url).await.unwrap(), SCRIPT)
        .lease(Duration::from_millis(600))
        .tool(note.clone())
        .subagent(level("one", "Level one", &["subagent", "note"]))
        .subagent(level("two", "Level two", &["subagent", "note"]))
        .subagent(level("three", "Level three", &["note"]));
    let (harness, events) = ready(builder).await;
    (harness, events, note)
}

/// The part of the process that is killed: sends a message and prints its events. Does
/// nothing when it is run as a test.
#[tokio::test]
async fn child_process() {
    let (Ok(database), Ok(message)) = (std::env::var(DATABASE), std::env::var(MESSAGE)) else {
        return;
    };
    let (harness, mut events, _) = open(Path::new(&database)).await;
    let sender = harness.clone();
    tokio::spawn(async move { sender.send_message(message).await });
    loop {
        println!("event {}", crate::support::kind(&*events.next().await));
    }
}

/// Starts a process that sends a message, and waits until it prints an event.
async fn child(database: &Path, message: &str, until: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recovery::child_process", "--nocapture"])
        .env(DATABASE, database)
        .env(MESSAGE, message)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let wait = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.ends_with(&format!("event {until}")) {
                return;
            }
        }
        panic!("the process ended before {until}");
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.expect("in time");
    child
}

/// Z01: Mastra loses a parked question when it restarts.
#[tokio::test]
async fn z01_a_parked_question_is_lost_on_restart() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("threads.db");
    child(&database, "question", "ask_question").await.kill().await.unwrap();
    let (harness, mut events, _) = open(&database).await;
    take_over(&harness).await;
    let asked = wait_for(&mut events, "ask_question").await;
    let id = asked["questionId"].as_str().unwrap();
    harness.respond_to_question(id, "yes").await.unwrap();
    assert_eq!(wait_for(&mut events, "agent_end").await["reason"], "complete");
    let thread = harness.current_thread().await.unwrap().id;
    let messages = json!(harness.messages(thread, 0, 20).await.unwrap());
    assert_eq!(messages[3]["content"][0]["text"], "answered yes", "{messages}");
    assert_eq!(messages.as_array().unwrap().len(), 4);
}

/// Z01: an approval inside a subagent three levels deep survives a kill and runs once.
#[tokio::test]
async fn z01_an_approval_three_levels_deep_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("threads.db");
    child(&database, "deep", "tool_approval_required").await.kill().await.unwrap();
    let (harness, mut events, note) = open(&database).await;
    take_over(&harness).await;
    let asked = wait_for(&mut events, "tool_approval_required").await;
    assert_eq!(asked["ext"]["path"].as_array().unwrap().len(), 3);
    let id = asked["toolCallId"].as_str().unwrap();
    harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await.unwrap();
    assert_eq!(wait_for(&mut events, "agent_end").await["reason"], "complete");
    assert_eq!(note.count(), 1);
    let again = harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await;
    assert!(matches!(again, Err(HarnessError::AskNotOpen(_))));
}

/// A turn that was answering is reported, and goes on when the user wants it.
#[tokio::test]
async fn z01_an_interrupted_turn_is_resumed_or_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for resume in [true, false] {
        let database = folder.path().join(format!("{resume}.db"));
        child(&database, "slow", "message_update").await.kill().await.unwrap();
        let (harness, mut events, _) = open(&database).await;
        take_over(&harness).await;
        wait_for(&mut events, "turn_interrupted").await;
        if resume {
            let outcome = harness.resume().await.unwrap();
            assert_eq!(outcome.reason, EndReason::Complete);
            assert_eq!(json!(outcome.end)["text"], "One two three four five six");
        } else {
            let outcome = harness.send_message("something else").await.unwrap();
            assert_eq!(json!(outcome.end)["text"], "You said: slow\nsomething else");
        }
        let thread = harness.current_thread().await.unwrap().id;
        let messages = json!(harness.messages(thread, 0, 20).await.unwrap());
        assert_eq!(messages[0]["content"][0]["text"], "slow", "{messages}");
    }
}

/// The process that lost its thread cannot write to it any more.
#[tokio::test]
async fn z01_a_process_that_lost_its_thread_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("threads.db");
    let (first, _, _) = open(&database).await;
    first.send_message("hello").await.unwrap();
    let thread = first.current_thread().await.unwrap().id;
    // Its lease ends as if the process had been stopped for a while.
    let store = open_storage(&format!("sqlite:{}", database.display())).await.unwrap();
    let org = store.org(ostler_domain::id::OrgId::from_u128(0));
    let stolen = tokio::time::timeout(Duration::from_secs(5), async {
        loop {
            let claim = org.claim_thread(thread, "another", Duration::from_secs(60)).await;
            if matches!(claim, Ok(ostler_store::ThreadClaim::Claimed { .. })) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    // The lease is renewed, so nobody can take it.
    assert!(tokio::time::timeout(Duration::from_millis(900), stolen).await.is_err());
    first.close().await.unwrap();
    org.claim_thread(thread, "another", Duration::from_secs(60)).await.unwrap();
    let refused = first.switch_thread(thread).await;
    assert!(matches!(refused, Err(HarnessError::ThreadInUse { .. })));
}
