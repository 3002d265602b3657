//! Workflows from the terminal, and processes that are killed in them.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_domain::workflow::Definition;
use serde_json::Value;

use crate::demo::Played;

const REFUND: &str = "examples/workflows/refund.toml";
const INPUT: &str = r#"{"order": "1234"}"#;

/// A command on a workflow of Bella Pizza.
fn on<'w>(words: &[&'w str]) -> Vec<&'w str> {
    [&["workflow"], words, &["--org", "bella"]].concat()
}

/// An operator runs the example, answers, approves and sees it done; every refusal
/// says what to do.
#[test]
fn a_refund_is_run_answered_and_approved() {
    let played = Played::new();
    let run = played.run(&["workflow", "run", REFUND, "--input", INPUT, "--org", "bella"]);
    for part in ["✓ look  done", "✓ judge  done  Yes, one pizza", "⏸ decide  waits", "next  ostler"]
    {
        assert!(run.contains(part), "{part} in {run}");
    }
    let listed = played.json(&["workflow", "ls", "--org", "bella"]);
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    let end = format!("…{}", &id[id.len() - 6..]);
    let asks = "asks: Enzo says: Yes, one pizza was charged twice.";
    assert!(played.run(&on(&["show", &end])).contains(asks));
    let wrong = played.refused(&on(&["answer", &end, "decide", "perhaps"]));
    assert!(wrong.contains("`perhaps` is not one of the answers: yes, no"), "{wrong}");
    played.run(&on(&["answer", &end, "decide", "yes"]));
    let again = played.refused(&on(&["answer", &end, "decide", "no"]));
    assert!(again.contains("somebody has answered `decide` already"), "{again}");
    let followed = played.run(&on(&["follow", &end]));
    assert!(followed.contains("⏸ pay  waits"), "{followed}");
    let shown = played.run(&on(&["show", &end]));
    assert!(shown.contains("wants to call refund_payment(amount: 10.00"), "{shown}");
    played.run(&on(&["approve", &end, "pay"]));
    let followed = played.run(&on(&["follow", &end]));
    assert!(followed.ends_with("done\n"), "{followed}");
    let shown = played.run(&on(&["show", &end]));
    for part in
        ["refund_payment  ran: approved by a person", "Somebody was hungry: 5 of Margherita"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let over = played.refused(&on(&["cancel", &end]));
    assert!(over.contains("this workflow is over"), "{over}");
}

/// What is wrong with a file, an input or a name is said.
#[test]
fn what_is_wrong_is_said() {
    let played = Played::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("circle.toml");
    let file = file.to_str().expect("a plain path");
    let check = |text: &str, input: &str, expected: &str| {
        std::fs::write(file, text).expect("the file is written");
        let said = played.refused(&["workflow", "run", file, "--org", "bella", "--input", input]);
        assert!(said.contains(expected), "{said}");
    };
    let circle = "name = 'x'\n[[step]]\nid = 'a'\nafter = ['b']\nvalue = ''\n\
                  [[step]]\nid = 'b'\nafter = ['a']\nvalue = ''\n";
    check(
        circle,
        "{}",
        "these steps wait for each other, so that none can begin: a after b after a",
    );
    check("name = 'x'\n[[step]]\nid = 'a'\nprompt = 'hi'\n", "{}", "nobody works on the step `a`");
    let needs = "name = 'x'\ninputs = ['order']\n[[step]]\nid = 'a'\nvalue = ''\n";
    check(needs, "{}", "the workflow needs the input `order`");
    check(needs, "[]", "is a JSON object");
    let nobody = played.refused(&["workflow", "show", "wfl_zz", "--org", "bella"]);
    assert!(nobody.contains("no workflow wfl_zz in Bella Pizza"), "{nobody}");
    let kept = played.run(&["workflow", "signal", "parcel-back", "--org", "bella"]);
    assert!(kept.contains("it is kept"), "{kept}");
}

/// Every example of the guide is a workflow.
#[test]
fn the_guide_is_right() {
    let guide = include_str!("../../../../docs/WORKFLOWS.md");
    let mut read = 0;
    for example in guide.split("```toml\n").skip(1) {
        let text = example.split("```").next().unwrap_or_default();
        // Each is a part of one, which comes after a step that is not shown.
        let before = "name = 'part'\ninputs = ['order', 'letters']\n\
                      [[step]]\nid = 'book'\nvalue = '{}'\n";
        let whole = format!("{before}{text}");
        let definition: Result<Definition, _> = toml::from_str(&whole);
        assert!(definition.is_ok(), "{definition:?} in {whole}");
        read += 1;
    }
    assert!(read >= 5, "{read}");
}

/// A worker that is killed like any process that is in the way.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn worker(home: &str) -> Worker {
    let child = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["worker", "--home", home, "--at-once", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Worker(child.expect("ostler runs"))
}

/// What a workflow looks like once this holds.
fn until(played: &Played, id: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let shown = played.json(&["workflow", "show", id, "--org", "bella"]);
        if holds(&shown) {
            return shown;
        }
        assert!(began.elapsed() < Duration::from_secs(40), "{shown}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn task<'s>(shown: &'s Value, name: &str) -> &'s Value {
    let tasks = shown["tasks"].as_array().expect("a list");
    tasks.iter().find(|one| one["task"] == name).unwrap_or(&Value::Null)
}

/// X54, Z01: `ostler worker` is killed with `kill -9` in the middle of a step and
/// while steps wait for a question and an approval. Another goes on: what was done
/// is not done again, and the refund is made once.
#[test]
fn x54_z01_a_killed_worker_loses_nothing_and_repeats_nothing() {
    let played = Played::new();
    let home = played.home();
    let file = Path::new(&home).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("the file is there");
    std::fs::write(&file, format!("{config}given_up_after_secs = 1\n")).expect("it is written");
    let script = Path::new(&home).join("script.yaml");
    let quick = std::fs::read_to_string(&script).expect("the script is there");
    let slow = quick.replace(
        "answer: Yes, one pizza was charged twice.",
        "answer: { text: 'Yes, one pizza was charged twice.', delay: 60s }",
    );
    assert_ne!(slow, quick);

    // Whoever is faster takes it up, and both are killed.
    std::fs::write(&script, slow).expect("it is written");
    let first = worker(&home);
    let definition = format!("{}/../../{REFUND}", env!("CARGO_MANIFEST_DIR"));
    let mut starting = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["workflow", "run", &definition, "--org", "bella", "--input", INPUT])
        .args(["--home", &home])
        .stdout(Stdio::null())
        .spawn()
        .expect("ostler runs");
    let began = Instant::now();
    let id = loop {
        let listed = played.json(&["workflow", "ls", "--org", "bella"]);
        if let Some(id) = listed[0]["id"].as_str() {
            break id.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "nothing was started");
    };
    let done = until(&played, &id, |shown| {
        task(shown, "lines/0")["state"] == "done" && task(shown, "judge")["state"] == "running"
    });
    let _ = starting.kill();
    let _ = starting.wait();
    drop(first);
    let before = ["look", "lines/0"].map(|name| task(&done, name)["record"]["at"].clone());

    std::fs::write(&script, quick).expect("it is written");
    let second = worker(&home);
    let waits = |name: &'static str| move |shown: &Value| task(shown, name)["state"] == "waits";
    let waiting = until(&played, &id, waits("decide"));
    let after = ["look", "lines/0"].map(|name| task(&waiting, name)["record"]["at"].clone());
    assert_eq!(before, after, "what was done was not done again");
    drop(second);
    played.run(&["workflow", "answer", &id, "decide", "yes", "--org", "bella"]);
    let third = worker(&home);
    until(&played, &id, waits("pay"));
    drop(third);
    played.run(&["workflow", "approve", &id, "pay", "--org", "bella"]);
    let fourth = worker(&home);
    let over = until(&played, &id, |shown| shown["status"] == "done");
    drop(fourth);
    assert_eq!(task(&over, "sum")["state"], "done");
    let order = played.json(&["workflow", "run", REFUND, "--input", INPUT, "--org", "bella"]);
    let look = task(&order, "look")["result"].as_str().expect("the order").to_owned();
    assert_eq!(look.matches("one pizza was charged twice").count(), 1, "{look}");
}
