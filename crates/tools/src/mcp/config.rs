//! The configuration of an MCP server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ostler_domain::secret::SecretRef;
use ostler_engine::tool::DEFAULT_MAX_OUTPUT;

/// The name of a server: 1 to 24 letters, digits, `-` or single `_` in between.
/// `__` separates it from the names of its tools, so it must not contain that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct McpServerName(String);

/// The text is not a valid server name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid name of an MCP server; use 1 to 24 letters, digits, `-` or single `_` \
     in between"
)]
pub struct InvalidMcpServerName(String);

impl McpServerName {
    /// The maximum length in characters.
    pub const MAX_LEN: usize = 24;

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for McpServerName {
    type Err = InvalidMcpServerName;

    fn from_str(name: &str) -> Result<Self, InvalidMcpServerName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let valid = (1..=Self::MAX_LEN).contains(&name.len()) && name.chars().all(allowed);
        let underscore_at_edge = name.starts_with('_') || name.ends_with('_');
        if valid && !underscore_at_edge && !name.contains("__") {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidMcpServerName(name.to_owned()))
        }
    }
}

impl fmt::Display for McpServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A server and how it is treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerConfig {
    /// The prefix of the names of its tools.
    pub name: McpServerName,
    pub transport: McpTransport,
    pub annotation_trust: AnnotationTrust,
    /// Credits per call of one of its tools.
    pub price: u64,
    pub limits: McpLimits,
}

impl McpServerConfig {
    /// Creates a configuration with untrusted annotations and default limits.
    pub fn new(name: McpServerName, transport: McpTransport) -> Self {
        Self {
            name,
            transport,
            annotation_trust: AnnotationTrust::Untrusted,
            price: 1,
            limits: McpLimits::default(),
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that is started and used over standard input and output.
    Stdio(McpStdioServer),
    /// Streamable HTTP.
    Http(McpHttpServer),
}

/// A server that runs as a local program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpStdioServer {
    pub command: String,
    pub args: Vec<String>,
    /// `None` means the current directory.
    pub working_dir: Option<PathBuf>,
    /// Environment variables that are passed on, besides the few that every program
    /// needs.
    pub inherited_env: Vec<String>,
    /// Environment variables with their values.
    pub env: BTreeMap<String, String>,
    /// Environment variables whose values are secrets.
    pub secret_env: BTreeMap<String, SecretRef>,
}

impl McpStdioServer {
    /// Creates the configuration of a program with arguments and the minimal environment.
    pub fn new<A: Into<String>>(
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { command: command.into(), args, ..Self::default() }
    }
}

/// A server that is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpHttpServer {
    pub url: String,
    /// The token is sent to the origin of `url` only.
    pub bearer_token: Option<SecretRef>,
}

/// Whether the annotations of a server may relax the treatment of its tools.
/// Annotations that make it stricter always apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnnotationTrust {
    #[default]
    Untrusted,
    Trusted,
}

/// Limits of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpLimits {
    /// Time limit to start and to list its tools.
    pub start_timeout: Duration,
    pub call_timeout: Duration,
    pub max_message_bytes: usize,
    /// The most bytes of an answer for the model.
    pub max_output_bytes: usize,
    pub max_tools: usize,
    pub max_schema_bytes: usize,
    pub max_description_bytes: usize,
    /// Restarts in a row before the supervisor gives up.
    pub max_restarts: u32,
    /// A run of at least this time resets the count of failures.
    pub healthy_after: Duration,
    /// The delay before the first restart; it doubles with each failure.
    pub initial_backoff: Duration,
    pub max_backoff: Duration,
    /// The shortest time between two requests for its tools.
    pub min_relist_interval: Duration,
    /// How long a program may take to exit before it is killed.
    pub shutdown_grace: Duration,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            max_message_bytes: 8 * 1024 * 1024,
            max_output_bytes: DEFAULT_MAX_OUTPUT,
            max_tools: 128,
            max_schema_bytes: 32 * 1024,
            max_description_bytes: 2048,
            max_restarts: 5,
            healthy_after: Duration::from_secs(60),
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
            min_relist_interval: Duration::from_millis(500),
            shutdown_grace: Duration::from_secs(2),
        }
    }
}

impl McpLimits {
    /// Returns the delay before a restart after this many failures in a row.
    pub(super) fn backoff_after(&self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.initial_backoff.saturating_mul(factor).min(self.max_backoff)
    }
}

#[cfg(test)]
mod tests {
    use super::{McpLimits, McpServerName};
    use std::time::Duration;

    #[test]
    fn server_names_do_not_contain_the_separator() {
        for name in ["github", "my-server", "my_server", "a", &"x".repeat(24)] {
            assert!(name.parse::<McpServerName>().is_ok(), "{name}");
        }
        for name in ["", "a__b", "_a", "a_", "a b", "ä", "a.b", &"x".repeat(25)] {
            assert!(name.parse::<McpServerName>().is_err(), "{name}");
        }
    }

    #[test]
    fn backoff_doubles_up_to_a_limit() {
        let limits = McpLimits::default();
        let backoff = |failures| limits.backoff_after(failures);
        assert_eq!(backoff(1), Duration::from_millis(500));
        assert_eq!(backoff(2), Duration::from_secs(1));
        assert_eq!(backoff(7), Duration::from_secs(30));
        assert_eq!(backoff(u32::MAX), Duration::from_secs(30));
    }
}
