//! The command line as a person uses it: the program runs, its output is read.

#![allow(clippy::expect_used, reason = "a test may insist, and so may what only tests use")]

mod bench;
mod channel;
mod contact;
mod demo;
mod doctor;
mod explain;
mod knowledge;
mod layer;
mod migrate;
mod mock_model;
mod operate;
mod pdf;
mod prune;
mod queue;
mod run;
mod send;
mod subagents;
mod workflow;
mod wrong_input;

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs `ostler` in the root of the repository.
fn ostler(args: &[&str]) -> Output {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(args)
        .current_dir(root)
        .output()
        .expect("ostler runs")
}

/// What a successful call prints.
fn stdout(args: &[&str]) -> String {
    let output = ostler(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

/// What a failing call says.
fn stderr(args: &[&str]) -> String {
    let output = ostler(args);
    assert!(!output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("the output is text")
}

/// Runs `ostler` on the sample world.
fn in_sample(args: &[&str]) -> String {
    stdout(&[args, &["--world", "examples/harbour.toml"]].concat())
}

#[test]
fn every_help_has_examples() {
    let commands = [
        &["demo"][..],
        &["layer"],
        &["tools", "explain"],
        &["migrate"],
        &["doctor"],
        &["prune"],
        &["bench"],
        &["mock-model"],
        &["run"],
        &["agent", "ls"],
        &["agent", "show"],
        &["agent", "send"],
        &["team", "ls"],
        &["team", "create"],
        &["team", "ask"],
        &["team", "broadcast"],
        &["team", "stop"],
        &["delegation", "ls"],
        &["delegation", "show"],
        &["delegation", "update"],
        &["workflow", "run"],
        &["workflow", "follow"],
        &["workflow", "ls"],
        &["workflow", "show"],
        &["workflow", "approve"],
        &["workflow", "reject"],
        &["workflow", "answer"],
        &["workflow", "signal"],
        &["workflow", "cancel"],
        &["bus", "status"],
        &["bus", "dead-letters"],
        &["bus", "replay"],
        &["serve"],
        &["worker"],
        &["send"],
        &["session", "ls"],
        &["session", "show"],
        &["session", "take-over"],
        &["session", "say"],
        &["session", "resume"],
        &["session", "dismiss"],
        &["session", "close"],
        &["session", "assign"],
        &["approval", "ls"],
        &["approval", "approve"],
        &["approval", "reject"],
        &["escalation", "ls"],
        &["credit", "show"],
        &["credit", "grant"],
        &["credit", "lines"],
        &["deadletter", "ls"],
        &["deadletter", "replay"],
        &["deadletter", "abandon"],
        &["knowledge", "add"],
        &["knowledge", "ls"],
        &["knowledge", "rm"],
        &["tools", "ls"],
        &["outcome", "ls"],
        &["outcome", "resolve"],
        &["notice", "ls"],
        &["notice", "read"],
        &["integration", "ls"],
        &["integration", "connect"],
        &["integration", "disconnect"],
        &["channel", "add"],
        &["channel", "ls"],
        &["channel", "change"],
        &["key", "create"],
        &["key", "ls"],
        &["key", "revoke"],
        &["harness", "show"],
        &["contact"],
        &["contact", "export"],
        &["contact", "delete"],
        &[],
    ];
    for command in commands {
        let help = stdout(&[command, &["--help"]].concat());
        assert!(help.contains("Examples:"), "{help}");
    }
}
