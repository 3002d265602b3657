//! What an operator says of an MCP server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ostler_domain::secret::SecretRef;
use ostler_engine::tool::MAX_OUTPUT;

/// The name of a server: 1 to 24 letters, digits, `-` or single `_` in between.
/// Two `_` separate it from the names of its tools, so it has none itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

/// The text cannot be the name of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the name of an MCP server; use 1 to 24 letters, digits, `-` or single `_` in \
     between"
)]
pub struct BadServerName(String);

impl ServerName {
    /// The most characters.
    pub const MOST: usize = 24;

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = BadServerName;

    fn from_str(name: &str) -> Result<Self, BadServerName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let plain = (1..=Self::MOST).contains(&name.len()) && name.chars().all(allowed);
        let edges = name.starts_with('_') || name.ends_with('_');
        if plain && !edges && !name.contains("__") {
            Ok(Self(name.to_owned()))
        } else {
            Err(BadServerName(name.to_owned()))
        }
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A server and how to treat it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerConfig {
    /// Its name; the names of its tools begin with it.
    pub name: ServerName,
    /// How it is reached.
    pub transport: McpTransport,
    /// Whether what it says of its tools is believed where that makes them freer.
    pub hints: Hints,
    /// What a call of one of its tools costs, in credits.
    pub price: u64,
    /// Its limits.
    pub limits: McpLimits,
}

impl McpServerConfig {
    /// A server that is not believed, with the usual limits.
    pub fn new(name: ServerName, transport: McpTransport) -> Self {
        Self { name, transport, hints: Hints::Doubted, price: 1, limits: McpLimits::default() }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// It is a program that is started and spoken to over its input and output.
    Stdio(StdioServer),
    /// It is reached over streamable HTTP.
    Http(HttpServer),
}

/// A server that is a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StdioServer {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it runs in; the own one if there is none.
    pub folder: Option<PathBuf>,
    /// Variables that it sees with the value that they have here, beyond the few
    /// that every program needs.
    pub inherit: Vec<String>,
    /// Variables that it sees with these values.
    pub set: BTreeMap<String, String>,
    /// Variables that it sees with the secrets that are kept there.
    pub secrets: BTreeMap<String, SecretRef>,
}

impl StdioServer {
    /// A program with arguments, which sees nothing special.
    pub fn new<A: Into<String>>(
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { command: command.into(), args, ..Self::default() }
    }
}

/// A server on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpServer {
    /// Its address.
    pub url: String,
    /// Where its bearer token is kept. The token goes to this address only.
    pub bearer: Option<SecretRef>,
}

/// Whether what a server says of its tools is believed where that makes them
/// freer. What makes them stricter is always believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hints {
    /// No.
    #[default]
    Doubted,
    /// Yes: the operator knows the server.
    Believed,
}

/// What a server may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpLimits {
    /// The time to start and to list its tools.
    pub start: Duration,
    /// The time of a call.
    pub call: Duration,
    /// The bytes of a message.
    pub message: usize,
    /// The bytes of an answer for the model.
    pub output: usize,
    /// The tools.
    pub tools: usize,
    /// The bytes of a tool's schema.
    pub schema: usize,
    /// The bytes of a tool's description.
    pub description: usize,
    /// How often in a row it is started again.
    pub restarts: u32,
    /// How long it must have worked so that the row is over.
    pub steady: Duration,
    /// How long to wait before it is started again; every time twice as long.
    pub backoff: Duration,
    /// The longest wait.
    pub backoff_most: Duration,
    /// The shortest time between two looks at its list of tools.
    pub relist: Duration,
    /// How long it may take to end by itself.
    pub grace: Duration,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(60),
            message: 8 * 1024 * 1024,
            output: MAX_OUTPUT,
            tools: 128,
            schema: 32 * 1024,
            description: 2048,
            restarts: 5,
            steady: Duration::from_secs(60),
            backoff: Duration::from_millis(500),
            backoff_most: Duration::from_secs(30),
            relist: Duration::from_millis(500),
            grace: Duration::from_secs(2),
        }
    }
}

impl McpLimits {
    /// How long to wait after so many failures in a row.
    pub(super) fn wait_after(&self, failures: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.backoff.saturating_mul(doubled).min(self.backoff_most)
    }
}

#[cfg(test)]
mod tests {
    use super::{McpLimits, ServerName};
    use std::time::Duration;

    #[test]
    fn server_names_keep_clear_of_the_separator() {
        for name in ["github", "my-server", "my_server", "a", &"x".repeat(24)] {
            assert!(name.parse::<ServerName>().is_ok(), "{name}");
        }
        for name in ["", "a__b", "_a", "a_", "a b", "ä", "a.b", &"x".repeat(25)] {
            assert!(name.parse::<ServerName>().is_err(), "{name}");
        }
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let limits = McpLimits::default();
        let wait = |failures| limits.wait_after(failures);
        assert_eq!(wait(1), Duration::from_millis(500));
        assert_eq!(wait(2), Duration::from_secs(1));
        assert_eq!(wait(7), Duration::from_secs(30));
        assert_eq!(wait(u32::MAX), Duration::from_secs(30));
    }
}
