//! MCP servers through their tools: the reference server, a stdio server that
//! misbehaves, and HTTP servers that misbehave.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod fake_server;
mod http;
mod reference_server;
mod support;
