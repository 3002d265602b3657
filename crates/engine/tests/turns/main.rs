//! Whole turns with fake models and tools.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod arguments;
mod driving;
mod faults;
mod money;
mod people;
mod processes;
mod property;
mod stopping;
mod storing;
mod subagents;
mod support;
mod tools;
