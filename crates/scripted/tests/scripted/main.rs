//! The scripted model, in process and over HTTP.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may insist")]

mod answers;
mod errors;
mod faults;
mod guide;
mod http;
mod server;
mod support;
mod transcript;
mod wire;
