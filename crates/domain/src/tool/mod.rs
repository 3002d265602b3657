//! Tools, as far as policy is concerned: what a tool touches and what it costs.
//!
//! What the model is told about a tool (description, JSON Schema) and how it
//! runs live with the tool; nothing here runs anything.

pub mod catalogue;
pub mod profile;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::money::Credits;
use crate::org::guardrail::Capability;

/// The name of a tool: 1 to 64 letters, digits, `_`, `-` or `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ToolName(Cow<'static, str>);

/// The text cannot be the name of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be the name of a tool; use 1 to 64 letters, digits, `_`, `-` or `.`")]
pub struct BadToolName(String);

impl ToolName {
    /// A name that is written in the source.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolName {
    type Err = BadToolName;

    fn from_str(name: &str) -> Result<Self, BadToolName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
            Ok(Self(Cow::Owned(name.to_owned())))
        } else {
            Err(BadToolName(name.to_owned()))
        }
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

// A name orders and hashes like its text, so that sets of names can be asked
// for a text that a model made up.
impl std::borrow::Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What kind of access a tool is, for the permissions of an interactive harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Looks at something.
    Read,
    /// Changes files or records.
    Edit,
    /// Runs commands.
    Execute,
    /// Belongs to an MCP server.
    Mcp,
    /// Anything else.
    Other,
}

/// How bad a wrong call would be. The order is from harmless to harmful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Changes nothing.
    Read,
    /// Changes something that can be changed back.
    Write,
    /// Loses or moves something for good.
    Destructive,
}

impl Risk {
    /// The level that is shown on an approval.
    pub const fn level(self) -> &'static str {
        match self {
            Self::Read => "low",
            Self::Write => "medium",
            Self::Destructive => "high",
        }
    }
}

/// Where a tool's effect happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// In our own store, in the turn's commit.
    Local,
    /// Outside, where nothing can be rolled back.
    External,
}

impl Reach {
    /// The name on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::External => "external",
        }
    }
}

/// Whether content may be followed as if the org had written it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Written by the org or the runtime.
    Trusted,
    /// From outside: the web, e-mail, MCP, a customer's file.
    Untrusted,
}

/// What part of the product a tool belongs to; profiles and layers go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolGroup {
    /// Contacts.
    Crm,
    /// Products, events, forms.
    Offers,
    /// Bookings.
    Bookings,
    /// Orders and payments.
    Orders,
    /// Pictures and files.
    Media,
    /// The org's documents.
    Knowledge,
    /// The web.
    Web,
    /// Messages to people who have not written first.
    Outreach,
    /// The org's own settings and agents.
    Management,
    /// An agency's clients.
    Agency,
    /// The installation.
    PlatformAdmin,
    /// Between business layers.
    CrossLayer,
    /// Between agents and humans of one conversation.
    Team,
    /// From elsewhere: MCP servers and the user's own.
    Custom,
}

/// How the gate treats a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRole {
    /// Passes every check.
    Ordinary,
    /// Steers the conversation itself (asking, planning, handing over), so it
    /// passes the scope only and never waits for approval.
    Control,
}

/// A connected service that tools may need.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Integration(String);

impl Integration {
    /// The service of this name.
    pub fn new(name: &str) -> Self {
        Self(name.trim().to_lowercase())
    }
}

impl fmt::Display for Integration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All that policy knows of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// The part of the product it belongs to.
    pub group: ToolGroup,
    /// The kind of access.
    pub category: Category,
    /// How bad a wrong call would be.
    pub risk: Risk,
    /// Where its effect happens.
    pub reach: Reach,
    /// How the gate treats it.
    pub role: ToolRole,
    /// Whether its output may be followed.
    pub output: Trust,
    /// The services it needs.
    pub integrations: BTreeSet<Integration>,
    /// The row of the guardrail matrix it needs.
    pub capability: Option<Capability>,
    /// What a call costs.
    pub price: Credits,
}

impl ToolSpec {
    /// A tool that looks something up in our own store.
    pub fn read(name: ToolName, group: ToolGroup) -> Self {
        Self {
            name,
            group,
            category: Category::Read,
            risk: Risk::Read,
            reach: Reach::Local,
            role: ToolRole::Ordinary,
            output: Trust::Trusted,
            integrations: BTreeSet::new(),
            capability: None,
            price: Credits::ZERO,
        }
    }

    /// A tool that changes records in our own store.
    pub fn write(name: ToolName, group: ToolGroup) -> Self {
        Self {
            category: Category::Edit,
            risk: Risk::Write,
            price: Credits::new(1),
            ..Self::read(name, group)
        }
    }

    /// A tool that steers the conversation.
    pub fn control(name: ToolName, group: ToolGroup) -> Self {
        Self {
            category: Category::Other,
            risk: Risk::Write,
            role: ToolRole::Control,
            ..Self::read(name, group)
        }
    }

    /// The same tool, losing or moving something for good.
    #[must_use]
    pub fn destructive(self) -> Self {
        Self { risk: Risk::Destructive, ..self }
    }

    /// The same tool, reaching outside.
    #[must_use]
    pub fn external(self) -> Self {
        Self { reach: Reach::External, ..self }
    }

    /// The same tool, whose output is from outside.
    #[must_use]
    pub fn untrusted(self) -> Self {
        Self { output: Trust::Untrusted, ..self }
    }

    /// The same tool, needing a connected service.
    #[must_use]
    pub fn needs(mut self, integration: &str) -> Self {
        self.integrations.insert(Integration::new(integration));
        self
    }

    /// The same tool, needing a row of the guardrail matrix.
    #[must_use]
    pub fn requires(self, capability: Capability) -> Self {
        Self { capability: Some(capability), ..self }
    }

    /// The same tool at another price.
    #[must_use]
    pub fn priced(self, credits: u64) -> Self {
        Self { price: Credits::new(credits), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadToolName, ToolName};

    #[test]
    fn tool_names_are_short_and_plain() {
        for name in ["query_org_data", "mcp.github.search-issues", "a"] {
            assert_eq!(name.parse::<ToolName>().unwrap().as_str(), name);
        }
        for name in ["", "two words", "naïve", &"x".repeat(65)] {
            assert_eq!(name.parse::<ToolName>(), Err(BadToolName(name.to_owned())));
        }
    }
}
