//! MCP servers as tools.
//!
//! It starts the servers that an operator configured, keeps them running, and
//! makes an [`ostler_engine::tool::Tool`] of each thing that they offer. A server
//! is a stranger: what it says of itself only ever makes its tools stricter,
//! what it answers is from outside, and whatever it sends has a limit. Only
//! `wire` knows the library that speaks the protocol.

mod config;
mod name;
mod offer;
mod problem;
mod schema;
mod server;
mod servers;
mod tool;
mod wire;

pub use config::{
    BadServerName, Hints, HttpServer, McpLimits, McpServerConfig, McpTransport, ServerName,
    StdioServer,
};
pub use problem::{Problem, Trouble};
pub use servers::McpServers;
