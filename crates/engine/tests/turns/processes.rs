//! Turns that wait for people and survive the process they started in.

use std::io::{BufRead, BufReader};
use std::path::Path as File;
use std::process::{Command, Stdio};

use ostler_engine::driver::{TurnCommands, TurnProgress, command_channel};
use ostler_engine::turn::{Answer, KnownOutcomes, Question, QuestionKind, Turn, TurnEnd};
use serde_json::{Value, json};

use crate::support::{TurnSetup, approve, calls, story, turn, words};

/// The part a child process of this test plays, and its file.
const PART: &str = "OSTLER_TEST_TURN_PART";
const FILE: &str = "OSTLER_TEST_TURN_FILE";
const NAME: &str = "processes::z01_a_turn_survives_its_process_and_resumes_exactly_once";

/// Z01: a turn waits for an approval, a question and a plan at once, from its own
/// agent and from subagents three levels deep. The process is killed. Another one
/// applies the answers, and each call completes once; a third one finds nothing
/// left to do.
#[test]
fn z01_a_turn_survives_its_process_and_resumes_exactly_once() {
    if let (Ok(part), Ok(file)) = (std::env::var(PART), std::env::var(FILE)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(play(&part, File::new(&file)));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("turn.json");
    let told = process("wait", &file, Ends::Killed);
    assert_eq!(told["paths"], json!(["a/b/c", "a/b/c", "a/b/c", "", "", ""]));
    assert_eq!(told["payments"], json!([]));
    let told = process("answer", &file, Ends::ByItself);
    assert_eq!(told["payments"], json!(["run/a/b/c/d", "run/p"]));
    let said: Vec<String> = serde_json::from_value(told["said"].clone()).unwrap();
    assert!(said.contains(&"= ok run/p".to_owned()), "{said:?}");
    assert!(said.contains(&"= ok blue".to_owned()), "{said:?}");
    assert!(said.contains(&"= ok The plan was approved.".to_owned()), "{said:?}");
    assert_eq!(said.last().map(String::as_str), Some("all is done"));
    let told = process("answer", &file, Ends::ByItself);
    assert_eq!((&told["payments"], &told["asked"]), (&json!([]), &json!(0)));
}

/// How a child process ends.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    ByItself,
    Killed,
}

/// Runs a part in a child process and returns what it reports.
fn process(part: &str, file: &File, end: Ends) -> Value {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(PART, part)
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.find_map(|line| {
        let (_, json) = line.split_once("TOLD ")?;
        serde_json::from_str(json).ok()
    });
    if end == Ends::Killed {
        child.kill().unwrap();
    }
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().success(), end == Ends::ByItself);
    told.expect("the process tells what it did")
}

/// Returns the model's answers, which continue from the history in whichever
/// process.
fn setup(part: &str) -> TurnSetup {
    let deeper = |id| (id, "subagent", r#"{"text": "go on"}"#);
    let asks = |ids: [&'static str; 3]| {
        [(ids[0], "pay", "{}"), (ids[1], "ask_user", "{}"), (ids[2], "submit_plan", "{}")]
    };
    let own = asks(["p", "q", "r"]);
    let before = [
        calls(&[&[deeper("a")], &own[..]].concat()),
        calls(&[deeper("b")]),
        calls(&[deeper("c")]),
        calls(&asks(["d", "e", "f"])),
    ];
    let after = ["third", "second", "first", "all is done"].map(words);
    let mut setup = TurnSetup::new(if part == "wait" { before } else { after });
    setup.ask_for.insert(ostler_domain::tool::ToolName::from_static("pay"));
    setup
}

async fn play(part: &str, file: &File) {
    let setup = setup(part);
    let (mut turn, mut commands) = match part {
        "wait" => (turn("hi"), TurnCommands::none()),
        _ => {
            let turn = Turn::load(&std::fs::read_to_string(file).unwrap()).unwrap();
            let (handle, commands) = command_channel();
            for (path, question) in turn.questions() {
                let call = question.call.id.clone();
                match reply(&question) {
                    None => handle.decide(path, call, approve(&question)).unwrap(),
                    Some(answer) => handle.answer(path, call, answer).unwrap(),
                }
            }
            (turn, commands)
        }
    };
    let progress = setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    std::fs::write(file, turn.store().unwrap()).unwrap();
    let paths = match &progress {
        TurnProgress::Suspended(questions) => {
            questions.iter().map(|(path, _)| written(path)).collect()
        }
        TurnProgress::Ended(TurnEnd::Answer { .. }) => Vec::new(),
        TurnProgress::Ended(other) => panic!("{other:?}"),
    };
    let payments: Vec<String> = {
        let stored = setup.host.stored.lock().unwrap();
        stored
            .iter()
            .flat_map(|(_, intents)| intents.iter().map(|made| made.idempotency_key.clone()))
            .collect()
    };
    let told = json!({
        "paths": paths, "payments": payments, "asked": setup.model.asked().len(),
        "said": story(turn.new_items()),
    });
    println!("\nTOLD {told}");
    if part == "wait" {
        std::future::pending::<()>().await;
    }
}

/// Returns the answer to a question; `None` for an approval.
fn reply(question: &Question) -> Option<Answer> {
    match (&question.kind, question.call.name.as_str()) {
        (QuestionKind::Approval { .. }, _) => None,
        (_, "submit_plan") => Some(Answer::Plan { approved: true, feedback: None }),
        _ => Some(Answer::Text { text: "blue".into() }),
    }
}

fn written(path: &[ostler_engine::history::CallId]) -> String {
    path.iter().map(|id| &*id.0).collect::<Vec<_>>().join("/")
}
