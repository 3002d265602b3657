//! MCP servers as tools.
//!
//! [`McpServers`] starts the configured servers and makes an
//! [`ostler_engine::tool::Tool`] of each tool that they list.
//!
//! A server is not trusted. Its annotations can only make a tool stricter, unless the
//! operator trusts them. Its answers are untrusted content, and everything it sends
//! has a size limit. A tool with an unusable schema, or with a name that another tool
//! has, is skipped and reported as a problem.
//!
//! Each server has a supervisor task that starts it, lists its tools, restarts it with
//! growing delays, and gives up after too many failures. Tools that a turn holds
//! survive a restart. A call without an answer has an unknown outcome, unless the tool
//! only reads or is idempotent. Only `wire` uses the library that implements the
//! protocol.

mod config;
mod error;
mod listing;
mod schema;
mod server;
mod servers;
mod tool;
mod tool_name;
mod wire;

pub(crate) use config::read_value;
pub use config::{
    AnnotationTrust, McpHttpServer, McpLimits, McpServerConfig, McpStdioServer, McpTransport,
};
pub use error::{McpProblem, McpServerError};
pub use servers::McpServers;
