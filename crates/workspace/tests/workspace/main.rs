//! The workspace, driven through its public interface.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod abort;
mod commands;
mod context;
mod escape_cases;
mod escapes;
mod files;
mod patches;
mod path_escapes;
mod support;
mod tools;
mod undo;
