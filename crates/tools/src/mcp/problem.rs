//! What is wrong with a server or one of its tools, for operators.

use std::fmt;
use std::time::Duration;

use ostler_engine::secret::NoSecret;

use super::config::ServerName;

/// Something that an operator may want to put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The server.
    pub server: ServerName,
    /// The tool, as the server calls it, if it is about one.
    pub tool: Option<String>,
    /// What is wrong.
    pub trouble: Trouble,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => {
                write!(f, "MCP server {}, tool `{tool}`: {}", self.server, self.trouble)
            }
            None => write!(f, "MCP server {}: {}", self.server, self.trouble),
        }
    }
}

/// What can be wrong. None of it holds a secret that we know of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Another server has its name.
    #[error("another server has the same name, so this one was not started")]
    SameName,
    /// A secret cannot be read.
    #[error("its secret cannot be read: {0}")]
    Secret(#[from] NoSecret),
    /// The program cannot be started.
    #[error("`{command}` cannot be started: {why}")]
    Spawn {
        /// The program.
        command: String,
        /// Why.
        why: String,
    },
    /// The address cannot be used.
    #[error("its address cannot be used: {0}")]
    Address(String),
    /// It did not say hello in time.
    #[error("it was not ready within {0:?}")]
    TooSlow(Duration),
    /// It did not say hello properly.
    #[error("no connection came about: {0}")]
    Connect(String),
    /// Its tools could not be listed.
    #[error("its tools could not be listed: {0}")]
    List(String),
    /// It ended, or closed the connection.
    #[error("it ended")]
    Ended,
    /// The same, with the last that it said.
    #[error("{trouble}; its last words were: {words}")]
    WithLastWords {
        /// What went wrong.
        trouble: Box<Trouble>,
        /// What it had written to its error output.
        words: String,
    },
    /// It failed too often.
    #[error("it failed {failures} times in a row and is not started again: {last}")]
    GaveUp {
        /// How often.
        failures: u32,
        /// The last failure.
        last: Box<Trouble>,
    },
    /// It offers more tools than it may.
    #[error("it offers more than {0} tools; the others were left out")]
    TooManyTools(usize),
    /// A tool cannot be read.
    #[error("left out, since it cannot be read: {0}")]
    Unreadable(String),
    /// A tool's schema cannot be used.
    #[error("left out, since its schema cannot be used: {0}")]
    Schema(String),
    /// Two tools have the same name, or get the same one.
    #[error("left out, since another tool of the server is named `{0}` too")]
    Collision(String),
}
