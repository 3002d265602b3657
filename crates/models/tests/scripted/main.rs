//! The scripted model as its callers see it: in this process, and over HTTP.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may insist")]

mod answers;
mod errors;
mod faults;
mod guide;
mod http;
mod server;
mod transcript;
mod wire;
mod world;
