//! Tests through the public interface: with fake servers that misbehave, and with
//! real servers from npm and PyPI.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod delivery;
mod email;
mod fake_server;
mod fake_smtp;
mod fuzz;
mod open_binding;
mod real_servers;
mod real_smtp;
mod real_telegram;
mod support;
mod telegram;
mod webhook;
mod widget;
