//! MCP servers of an org: programs or services whose tools its agents may have.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::Problems;
use super::{Audience, Risk, SecretText, ToolProblem};

/// The default time limit of a call, in seconds.
pub const DEFAULT_TIMEOUT_SECS: u32 = 60;
/// The longest time limit of a call, in seconds.
pub const MAX_TIMEOUT_SECS: u32 = 120;

/// The name of a server: 1 to 24 letters, digits, `-` or single `_` in between.
/// `__` separates it from the names of its tools, so it must not contain that.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
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

impl TryFrom<String> for McpServerName {
    type Error = InvalidMcpServerName;

    fn try_from(name: String) -> Result<Self, InvalidMcpServerName> {
        name.parse()
    }
}

impl From<McpServerName> for String {
    fn from(name: McpServerName) -> Self {
        name.0
    }
}

impl fmt::Display for McpServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An MCP server of an org: a program, or a service that is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// The prefix of the names of its tools, `mcp__NAME__TOOL`
    pub name: McpServerName,
    /// The program to start; the server speaks on its standard input and output
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The URL of a server that is reached over streamable HTTP
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `customer`: also in conversations with customers; `staff`: for the org's people only
    #[serde(default = "Audience::staff")]
    pub audience: Audience,
    /// The tools of the server that agents may have; by default all
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Whether to believe the server when it says that a tool only reads or is idempotent
    #[serde(default)]
    pub trust_annotations: bool,
    /// Credits per call, 1 by default
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<u32>,
    /// The time limit of a call in seconds, at most 120
    #[serde(default = "default_timeout_secs")]
    #[schemars(range(min = 1, max = 120))]
    pub timeout_secs: u32,
    /// The environment variables of the program; a value may be the location of a secret
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, SecretText>,
    /// The request headers; a value may be the location of a secret
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretText>,
    /// The risk of tools, by the names that the server gives them
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub risk: BTreeMap<String, Risk>,
}

impl McpServer {
    /// Returns every mistake of the definition.
    pub fn check(&self) -> Vec<ToolProblem> {
        let mut problems = Problems::default();
        match (&self.command, &self.url) {
            (None, None) => problems.add("command", "name a program (`command`) or a `url`"),
            (Some(_), Some(_)) => {
                problems.add("url", "a server is a program (`command`) or a `url`, not both");
            }
            (Some(command), None) => self.check_program(command, &mut problems),
            (None, Some(url)) => {
                problems.check_url(url);
                if url.contains(['{', '}']) {
                    problems.add("url", "the URL of a server has no placeholders");
                }
                for (field, is_set) in
                    [("args", !self.args.is_empty()), ("env", !self.env.is_empty())]
                {
                    if is_set {
                        problems.add(field, "only a program has this; a `url` has `headers`");
                    }
                }
                problems.check_headers(&self.headers);
            }
        }
        problems.check_timeout(self.timeout_secs, MAX_TIMEOUT_SECS);
        problems.check_price(self.price);
        if let Some(tools) = &self.tools {
            for name in self.risk.keys().filter(|name| !tools.contains(name)) {
                problems.add(format!("risk.{name}"), "this tool is not in `tools`");
            }
        }
        problems.into_vec()
    }

    fn check_program(&self, command: &str, problems: &mut Problems) {
        if command.trim().is_empty() {
            problems.add("command", "name a program");
        }
        if !self.headers.is_empty() {
            problems.add("headers", "only a `url` has headers; a program has `env`");
        }
        for (index, argument) in self.args.iter().enumerate() {
            let (name, value) = argument.split_once('=').unwrap_or(("", argument));
            problems.check_written(format!("args.{index}"), name, value);
        }
        for name in self.env.keys() {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(allowed) {
                problems.add(format!("env.{name}"), "this is not the name of a variable");
            }
        }
        problems.check_values("env", &self.env);
    }
}

const fn default_timeout_secs() -> u32 {
    DEFAULT_TIMEOUT_SECS
}

#[cfg(test)]
mod tests {
    use super::{McpServer, McpServerName};

    #[test]
    fn server_names_do_not_contain_the_separator() {
        for name in ["github", "my-server", "my_server", "a", &"x".repeat(24)] {
            assert!(name.parse::<McpServerName>().is_ok(), "{name}");
        }
        for name in ["", "a__b", "_a", "a_", "a b", "ä", "a.b", &"x".repeat(25)] {
            assert!(name.parse::<McpServerName>().is_err(), "{name}");
        }
    }

    /// O17: every mistake is a sentence with the path of its field.
    #[test]
    fn o17_mistakes_are_told_with_their_field() {
        let check = |text: &str, expected: &[&str]| {
            let server: McpServer = toml::from_str(&format!("name = \"stock\"\n{text}")).unwrap();
            let found: Vec<String> = server.check().iter().map(ToString::to_string).collect();
            assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.starts_with(expected), "{text}: {found}");
            }
            let again = toml::from_str(&toml::to_string(&server).unwrap());
            assert_eq!(again, Ok(server));
        };
        check("command = \"stock-mcp\"\nargs = [\"--stdio\"]\nenv = { TOKEN = \"env:T\" }", &[]);
        check(
            "url = \"https://x.example/mcp\"\nheaders = { Authorization = \"Bearer env:T\" }",
            &[],
        );
        check("command = \"a\"\ntools = [\"x\"]\nrisk = { x = \"read\" }", &[]);
        check("", &["command: name a program"]);
        check("command = \"a\"\nurl = \"https://x.example\"", &["url: a server is"]);
        check("command = \"a\"\nenv = { TOKEN = \"abc\" }", &["env.TOKEN: a secret must not"]);
        check("command = \"a\"\nargs = [\"--token=abc\"]", &["args.0: a secret must not"]);
        check("command = \"a\"\nheaders = { A = \"b\" }", &["headers: only a `url`"]);
        check("url = \"https://x.example\"\nargs = [\"a\"]", &["args: only a program"]);
        check("url = \"https://x.example/{a}\"", &["url: the URL of a server"]);
        check("command = \"a\"\ntools = [\"x\"]\nrisk = { y = \"read\" }", &["risk.y: this tool"]);
        check("command = \"a\"\ntimeout_secs = 500\nprice = 9999", &["timeout_secs", "price"]);
    }
}
