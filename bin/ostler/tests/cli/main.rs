//! Tests of the command line: each runs the program and checks its output.

#![allow(clippy::expect_used, reason = "tests and their helpers may panic")]

mod acp;
mod agent_view;
mod apply;
mod at_rest;
mod at_terminal;
mod audit;
mod backup;
mod bench;
mod channel;
mod chat;
mod config;
mod configure;
mod contact;
mod dashboard;
mod data;
mod demo;
mod docs;
mod doctor;
mod foreign_ids;
mod inbox;
mod init;
mod invalid_world;
mod knowledge;
mod layers;
mod link;
mod listings;
mod log_in;
mod manual;
mod matrix;
mod member;
mod migrate;
mod mock_model;
mod model;
mod monitoring;
mod nordlicht;
mod nordlicht_mail;
mod notice;
mod operator;
mod org_tools;
mod org_tree;
mod pdf;
mod permission;
mod prune;
mod pseudo_terminal;
mod queue_agents;
mod queue_operations;
mod refused_input;
mod remote;
mod remote_chat;
mod run;
mod running_server;
#[cfg(target_os = "linux")]
mod sandbox;
mod secrets;
mod send;
mod session_view;
mod shutdown;
mod subagents;
mod threads;
mod tmux;
mod tools_explain;
mod webhook;
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

/// The program of a shop's order system, which [`ostler_testkit::OrderSystem`] starts.
#[test]
fn order_system() {
    ostler_testkit::serve_order_system();
}
