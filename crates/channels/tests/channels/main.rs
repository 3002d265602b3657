//! Channels as their callers use them: against servers that misbehave, and
//! against real ones from npm and PyPI.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod delivery;
mod email;
mod mailbox;
mod opening;
mod real;
mod server;
mod smtp;
mod support;
mod telegram;
mod telegram_api;
mod webhook;
mod widget;
