//! `ostler workflow`, and workers that are killed in the middle of a workflow.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_domain::workflow::WorkflowDefinition;
use ostler_runtime::workflow::check_expressions;
use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::ostler;

const REFUND: &str = "examples/workflows/refund.toml";
const INPUT: &str = r#"{"order": "1234"}"#;

/// Returns the arguments of a workflow command of Bella Pizza.
fn workflow_args<'w>(words: &[&'w str]) -> Vec<&'w str> {
    [&["workflow"], words, &["--org", "bella"]].concat()
}

/// O28: a step whose tool does not find what it is about has failed.
#[test]
fn o28_a_step_without_its_order_fails() {
    let demo = DemoInstallation::new();
    let missing = r#"{"order": "9999"}"#;
    let args = ["workflow", "run", REFUND, "--input", missing, "--org", "bella", "--home"];
    let run = ostler(&[args.as_slice(), &[&demo.home()]].concat());
    assert!(!run.status.success());
    let said = String::from_utf8(run.stdout).expect("text");
    assert!(said.contains("✗ look  failed  There is no such order here."), "{said}");
}

/// An operator runs the example, answers and approves until it is done; errors say what
/// to do.
#[test]
fn a_refund_is_run_answered_and_approved() {
    let demo = DemoInstallation::new();
    let run = demo.run(&["workflow", "run", REFUND, "--input", INPUT, "--org", "bella"]);
    for part in ["✓ look  done", "✓ judge  done  Yes, one pizza", "⏸ decide  waits", "next  ostler"]
    {
        assert!(run.contains(part), "{part} in {run}");
    }
    let listed = demo.json(&["workflow", "ls", "--org", "bella"]);
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    let end = format!("…{}", &id[id.len() - 6..]);
    let asks = "asks: Enzo says: Yes, one pizza was charged twice.";
    assert!(demo.run(&workflow_args(&["show", &end])).contains(asks));
    let wrong = demo.error(&workflow_args(&["answer", &end, "decide", "perhaps"]));
    assert!(wrong.contains("`perhaps` is not one of the answers: yes, no"), "{wrong}");
    demo.run(&workflow_args(&["answer", &end, "decide", "yes"]));
    let again = demo.error(&workflow_args(&["answer", &end, "decide", "no"]));
    assert!(again.contains("`decide` has already been answered"), "{again}");
    let resumed = demo.run(&workflow_args(&["resume", &end]));
    assert!(resumed.contains("⏸ pay  waits"), "{resumed}");
    let shown = demo.run(&workflow_args(&["show", &end]));
    assert!(shown.contains("wants to call refund_payment(amount: 10.00"), "{shown}");
    demo.run(&workflow_args(&["approve", &end, "pay"]));
    let resumed = demo.run(&workflow_args(&["resume", &end]));
    assert!(resumed.ends_with("done\n"), "{resumed}");
    let shown = demo.run(&workflow_args(&["show", &end]));
    for part in
        ["refund_payment  ran: approved by a person", "Somebody was hungry: 5 of Margherita"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let over = demo.error(&workflow_args(&["cancel", &end]));
    assert!(over.contains("this workflow has ended"), "{over}");
}

#[test]
fn invalid_definitions_inputs_and_ids_are_errors() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("circle.toml");
    let file = file.to_str().expect("a plain path");
    let check = |text: &str, input: &str, expected: &str| {
        std::fs::write(file, text).expect("the file is written");
        let said = demo.error(&["workflow", "run", file, "--org", "bella", "--input", input]);
        assert!(said.contains(expected), "{said}");
    };
    let circle = "name = 'x'\n[[step]]\nid = 'a'\nafter = ['b']\nvalue = ''\n\
                  [[step]]\nid = 'b'\nafter = ['a']\nvalue = ''\n";
    check(
        circle,
        "{}",
        "these steps wait for each other, so that none can begin: a after b after a",
    );
    check("name = 'x'\n[[step]]\nid = 'a'\nprompt = 'hi'\n", "{}", "the step `a` has no agent");
    let skips = "name = 'x'\n[[step]]\nid = 'a'\nwhen = 'steps.b.result'\nvalue = ''\n\
                 [[step]]\nid = 'b'\nvalue = ''\n";
    check(skips, "{}", "`a` uses the result of `b` and does not come after it");
    let needs = "name = 'x'\ninputs = ['order']\n[[step]]\nid = 'a'\nvalue = ''\n";
    check(needs, "{}", "the workflow needs the input `order`");
    check(needs, "[]", "is a JSON object");
    let nobody = demo.error(&["workflow", "show", "wfl_zz", "--org", "bella"]);
    assert!(nobody.contains("no workflow wfl_zz in Bella Pizza"), "{nobody}");
    let kept = demo.run(&["workflow", "signal", "parcel-back", "--org", "bella"]);
    assert!(kept.contains("it is stored"), "{kept}");
}

#[test]
fn every_example_in_the_guide_is_valid() {
    let guide = include_str!("../../../../docs/WORKFLOWS.md");
    let mut read = 0;
    for example in guide.split("```toml\n").skip(1) {
        let text = example.split("```").next().unwrap_or_default();
        // Each is a part of one, which comes after a step that is not shown.
        let before = "name = 'part'\ninputs = ['order', 'letters']\n\
                      [[step]]\nid = 'book'\nvalue = '{}'\n";
        let whole = format!("{before}{text}");
        let definition: WorkflowDefinition =
            toml::from_str(&whole).unwrap_or_else(|error| panic!("{error} in {whole}"));
        assert_eq!(check_expressions(&definition), Ok(()), "{whole}");
        read += 1;
    }
    assert!(read >= 5, "{read}");
}

/// A running `ostler worker`, killed on drop.
struct RunningWorker(Child);

impl Drop for RunningWorker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_worker(home: &str) -> RunningWorker {
    let child = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["worker", "--home", home, "--at-once", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    RunningWorker(child.expect("ostler runs"))
}

/// Polls a workflow until a condition holds.
fn wait_until(demo: &DemoInstallation, id: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let shown = demo.json(&["workflow", "show", id, "--org", "bella"]);
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

/// X54, Z01: `ostler worker` is killed with `kill -9` in the middle of a step and while
/// steps wait for an answer and an approval. Another worker continues: finished steps do
/// not run again, and the refund is made once.
#[test]
fn x54_z01_a_killed_worker_loses_nothing_and_repeats_nothing() {
    let demo = DemoInstallation::new();
    let home = demo.home();
    let file = Path::new(&home).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("the file is there");
    std::fs::write(&file, format!("{config}lease_timeout_secs = 1\n")).expect("it is written");
    let script = Path::new(&home).join("script.yaml");
    let quick = std::fs::read_to_string(&script).expect("the script is there");
    let slow = quick.replace(
        "answer: Yes, one pizza was charged twice.",
        "answer: { text: 'Yes, one pizza was charged twice.', delay: 60s }",
    );
    assert_ne!(slow, quick);

    // Either process may run the steps; both are killed.
    std::fs::write(&script, slow).expect("it is written");
    let first = start_worker(&home);
    let definition = format!("{}/../../{REFUND}", env!("CARGO_MANIFEST_DIR"));
    let mut starting = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["workflow", "run", &definition, "--org", "bella", "--input", INPUT])
        .args(["--home", &home])
        .stdout(Stdio::null())
        .spawn()
        .expect("ostler runs");
    let began = Instant::now();
    let id = loop {
        let listed = demo.json(&["workflow", "ls", "--org", "bella"]);
        if let Some(id) = listed[0]["id"].as_str() {
            break id.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "nothing was started");
    };
    let done = wait_until(&demo, &id, |shown| {
        task(shown, "lines/0")["state"] == "done" && task(shown, "judge")["state"] == "running"
    });
    let _ = starting.kill();
    let _ = starting.wait();
    drop(first);
    let before = ["look", "lines/0"].map(|name| task(&done, name)["record"]["at"].clone());

    std::fs::write(&script, quick).expect("it is written");
    let second = start_worker(&home);
    let waits = |name: &'static str| move |shown: &Value| task(shown, name)["state"] == "waits";
    let waiting = wait_until(&demo, &id, waits("decide"));
    let after = ["look", "lines/0"].map(|name| task(&waiting, name)["record"]["at"].clone());
    assert_eq!(before, after, "what was done was not done again");
    drop(second);
    demo.run(&["workflow", "answer", &id, "decide", "yes", "--org", "bella"]);
    let third = start_worker(&home);
    wait_until(&demo, &id, waits("pay"));
    drop(third);
    demo.run(&["workflow", "approve", &id, "pay", "--org", "bella"]);
    let fourth = start_worker(&home);
    let over = wait_until(&demo, &id, |shown| shown["status"] == "done");
    drop(fourth);
    assert_eq!(task(&over, "sum")["state"], "done");
    let order = demo.json(&["workflow", "run", REFUND, "--input", INPUT, "--org", "bella"]);
    let look = task(&order, "look")["result"].as_str().expect("the order").to_owned();
    assert_eq!(look.matches("one pizza was charged twice").count(), 1, "{look}");
}

/// Ctrl-C says what happens to the workflow; the command that continues it says why it
/// waits.
#[test]
fn an_interrupted_workflow_says_how_it_continues() {
    let demo = DemoInstallation::new();
    let script = Path::new(&demo.home()).join("script.yaml");
    let quick = std::fs::read_to_string(&script).expect("the script is there");
    let answer = "answer: Yes, one pizza was charged twice.";
    std::fs::write(&script, quick.replace(answer, "answer: { text: 'Yes.', delay: 60s }"))
        .expect("it is written");
    let definition = format!("{}/../../{REFUND}", env!("CARGO_MANIFEST_DIR"));
    let (_, said) = interrupt(&demo, &["workflow", "run", &definition, "--input", INPUT]);
    assert!(said.contains("stopping after the steps in progress; Ctrl-C again stops"), "{said}");
    assert!(said.contains("ostler workflow resume wfl_"), "{said}");
    let listed = demo.json(&["workflow", "ls", "--org", "bella"]);
    let (printed, _) =
        interrupt(&demo, &["workflow", "resume", listed[0]["id"].as_str().expect("an id")]);
    assert!(
        printed.starts_with("another process works on this workflow; if it was killed"),
        "{printed}"
    );
}

/// Runs a command until it has a step that runs, presses Ctrl-C twice, and returns what it
/// printed.
fn interrupt(demo: &DemoInstallation, args: &[&str]) -> (String, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(args)
        .args(["--org", "bella", "--home", &demo.home()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ostler runs");
    let mut output = BufReader::new(process.stdout.take().expect("an output"));
    let mut printed = String::new();
    while !printed.contains("judge  running") {
        assert_ne!(output.read_line(&mut printed).expect("a line"), 0, "{printed}");
    }
    let pid = rustix::process::Pid::from_child(&process);
    let press =
        || rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let mut errors = BufReader::new(process.stderr.take().expect("errors"));
    let mut said = String::new();
    press();
    errors.read_line(&mut said).expect("it says what happens");
    press();
    errors.read_to_string(&mut said).expect("text");
    assert_eq!(process.wait().expect("it ends").code(), Some(130), "{said}");
    (printed, said)
}
