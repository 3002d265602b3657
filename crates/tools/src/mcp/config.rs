//! The configuration of an MCP server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ostler_domain::tool::mcp::McpServerName;
use ostler_domain::tool::{Audience, Risk, SecretText};
use ostler_engine::secret::{Secret, SecretError, SecretScope};
use ostler_engine::tool::DEFAULT_MAX_OUTPUT;

use crate::web::FetchPolicy;

/// A server and how it is treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerConfig {
    /// The prefix of the names of its tools.
    pub name: McpServerName,
    pub transport: McpTransport,
    pub annotation_trust: AnnotationTrust,
    /// The tools that are used, by the names that the server gives them; `None` for all.
    pub tools: Option<Vec<String>>,
    /// The risk of tools, whatever the server says, by the names that the server gives them.
    pub risk: BTreeMap<String, Risk>,
    /// For whom its tools are made; see [`ostler_domain::tool::ToolSpec`].
    pub audience: Audience,
    /// Credits per call of one of its tools.
    pub price: u64,
    /// Whose secrets its environment and headers may refer to.
    pub secrets: SecretScope,
    pub limits: McpLimits,
}

impl McpServerConfig {
    /// Creates a configuration with untrusted annotations and default limits.
    pub fn new(name: McpServerName, transport: McpTransport) -> Self {
        Self {
            name,
            transport,
            annotation_trust: AnnotationTrust::Untrusted,
            tools: None,
            risk: BTreeMap::new(),
            audience: Audience::Staff,
            price: 1,
            secrets: SecretScope::Operator,
            limits: McpLimits::default(),
        }
    }

    /// Returns a text with the secrets of the server redacted.
    pub(super) fn redact(&self, text: String) -> String {
        let values = match &self.transport {
            McpTransport::Stdio(server) => &server.env,
            McpTransport::Http(server) => &server.headers,
        };
        let secrets = values.values().filter_map(SecretText::secret);
        let read = secrets.filter_map(|secret| self.secrets.read(secret).ok());
        read.fold(text, |text, secret| secret.redact(&text))
    }
}

/// Returns a value for use, and the secret that is in it.
pub(crate) fn read_value(
    value: &SecretText,
    secrets: &SecretScope,
) -> Result<(String, Option<Secret>), SecretError> {
    match value {
        SecretText::Plain(text) => Ok((text.clone(), None)),
        SecretText::Secret { prefix, secret } => {
            let secret = secrets.read(secret)?;
            Ok((format!("{prefix}{}", secret.expose()), Some(secret)))
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
    /// Environment variables with their values, which may be secrets.
    pub env: BTreeMap<String, SecretText>,
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
    /// Request headers, which may be secrets. They are sent to the origin of `url` only.
    pub headers: BTreeMap<String, SecretText>,
    pub network: FetchPolicy,
}

impl McpHttpServer {
    /// Creates the configuration of a server at any address, without headers.
    pub fn new(url: impl Into<String>) -> Self {
        let (headers, network) = (BTreeMap::new(), FetchPolicy::unrestricted());
        Self { url: url.into(), headers, network }
    }
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
    use super::McpLimits;
    use std::time::Duration;

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
