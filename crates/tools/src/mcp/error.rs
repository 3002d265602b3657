//! Problems of servers and their tools, for operators.

use std::fmt;
use std::time::Duration;

use ostler_engine::secret::SecretError;

use ostler_domain::tool::mcp::McpServerName;

/// A problem of a server or of one of its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpProblem {
    pub server: McpServerName,
    /// The name that the server gives to the tool; `None` if the problem is not about one.
    pub tool: Option<String>,
    pub error: McpServerError,
}

impl fmt::Display for McpProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => {
                write!(f, "MCP server {}, tool `{tool}`: {}", self.server, self.error)
            }
            None => write!(f, "MCP server {}: {}", self.server, self.error),
        }
    }
}

/// What is wrong with a server or tool. It never contains a configured secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpServerError {
    #[error("not started, because another server has the same name")]
    DuplicateName,
    #[error("its secret cannot be read: {0}")]
    Secret(#[from] SecretError),
    #[error("cannot start `{command}`: {reason}")]
    Spawn { command: String, reason: String },
    #[error("its address cannot be used: {0}")]
    InvalidAddress(String),
    #[error("it was not ready within {0:?}")]
    StartTimeout(Duration),
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("cannot list its tools: {0}")]
    ListTools(String),
    #[error("it exited or closed the connection")]
    ConnectionClosed,
    /// Another error, with the end of the server's error output.
    #[error("{error}; its error output ends with: {stderr}")]
    WithStderr { error: Box<McpServerError>, stderr: String },
    #[error("it failed {failures} times in a row and is not restarted: {last}")]
    TooManyFailures { failures: u32, last: Box<McpServerError> },
    #[error("it lists more than {0} tools; the others are skipped")]
    TooManyTools(usize),
    #[error("skipped, because its description is invalid: {0}")]
    InvalidTool(String),
    #[error("skipped, because its schema cannot be used: {0}")]
    InvalidSchema(String),
    #[error("skipped, because it only runs as an MCP task, which Ostler does not support")]
    NeedsTask,
    #[error("the server does not list this tool")]
    NoSuchTool,
    #[error("skipped, because several tools of the server get the name `{0}`")]
    DuplicateTool(String),
}
