//! Snapshots and campaigns over recorded events.

mod app;
mod emulator;
mod exactly_once;
mod recordings;
mod snapshots;
mod view;

pub(crate) use snapshots::terminal_text;
