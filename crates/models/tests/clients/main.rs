//! The clients against a server with canned responses.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod anthropic;
mod ask;
mod catalogue;
mod fake;
mod fallback;
mod faults;
mod openai;
mod retry;
mod secrets;
mod server;
