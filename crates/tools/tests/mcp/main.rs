//! MCP servers through the tools that are made of them: the reference server, a
//! server that misbehaves, and a server on the network that does.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test may insist")]

mod everything;
mod fake;
mod http;
mod support;
