//! The harness through its public interface, with a scripted model.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod asks;
mod callers;
mod config;
mod context;
mod control;
mod events;
mod every_event;
mod examples;
mod exports;
mod kills;
mod ledger;
mod memory;
mod modes;
mod permission_files;
mod permissions;
mod races;
mod recovery;
mod state;
mod subagents;
mod support;
mod threads;
mod turns;
mod workspace;
