//! Tests of the command line: each runs the program and checks its output.

#![allow(clippy::expect_used, reason = "tests and their helpers may panic")]

mod agent_view;
mod apply;
mod audit;
mod bench;
mod channel;
mod config;
mod configure;
mod contact;
mod data;
mod demo;
mod docs;
mod doctor;
mod init;
mod invalid_world;
mod knowledge;
mod listings;
mod manual;
mod member;
mod migrate;
mod mock_model;
mod model;
mod nordlicht;
mod notice;
mod operator;
mod org_tools;
mod org_tree;
mod pdf;
mod prune;
mod pseudo_terminal;
mod queue_agents;
mod queue_operations;
mod refused_input;
mod run;
mod running_server;
mod send;
mod session_view;
mod subagents;
mod tools_explain;
mod workflow;

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

/// Returns what a successful command prints.
fn stdout(args: &[&str]) -> String {
    let output = ostler(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

/// Returns the error of a failing command.
fn stderr(args: &[&str]) -> String {
    let output = ostler(args);
    assert!(!output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("the output is text")
}

/// Runs `ostler` on the sample world.
fn in_sample(args: &[&str]) -> String {
    stdout(&[args, &["--world", "examples/harbour.toml"]].concat())
}
<<<<<<< HEAD
=======

#[test]
fn every_help_has_examples() {
    let commands = [
        &["demo"][..],
        &["init"],
        &["config"],
        &["model", "ls"],
        &["model", "test"],
        &["model", "use"],
        &["org", "tree"],
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
        &["agent", "start"],
        &["agent", "stop"],
        &["agent", "rm"],
        &["worklist", "ls"],
        &["worklist", "answer"],
        &["plan", "ls"],
        &["plan", "approve"],
        &["plan", "reject"],
        &["team", "ls"],
        &["team", "create"],
        &["team", "add"],
        &["team", "remove"],
        &["team", "ask"],
        &["team", "broadcast"],
        &["team", "stop"],
        &["delegation", "ls"],
        &["delegation", "show"],
        &["delegation", "create"],
        &["delegation", "update"],
        &["workflow", "run"],
        &["workflow", "resume"],
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
        &["dead-letter", "ls"],
        &["dead-letter", "replay"],
        &["dead-letter", "abandon"],
        &["knowledge", "add"],
        &["knowledge", "ls"],
        &["knowledge", "rm"],
        &["tools", "ls"],
        &["tools", "add"],
        &["tools", "show"],
        &["tools", "rm"],
        &["tools", "test"],
        &["mcp", "add"],
        &["mcp", "ls"],
        &["mcp", "show"],
        &["mcp", "rm"],
        &["mcp", "test"],
        &["unknown-outcome", "ls"],
        &["unknown-outcome", "resolve"],
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
        &["member", "ls"],
        &["member", "add"],
        &["member", "set"],
        &["member", "remove"],
        &["member", "invite"],
        &["member", "accept"],
        &["user", "ls"],
        &["user", "show"],
        &["user", "set"],
        &["audit", "ls"],
        &["data", "import"],
        &["data", "ls"],
        &["data", "show"],
        &["data", "rm"],
        &["policy", "what-if"],
        &["contact"],
        &["contact", "ls"],
        &["contact", "show"],
        &["contact", "merge"],
        &["contact", "export"],
        &["contact", "delete"],
        &[],
    ];
    for command in commands {
        let help = stdout(&[command, &["--help"]].concat());
        assert!(help.contains("Examples:"), "{help}");
    }
}
>>>>>>> 1d5af75 (Replay recorded tool calls against a proposed policy)
