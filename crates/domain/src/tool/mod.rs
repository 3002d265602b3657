//! Tools, as far as policy is concerned: what a tool touches and what it costs.
//!
//! What the model is told about a tool (description, JSON Schema) and how it
//! runs live with the tool; nothing here runs anything.

pub mod catalogue;
mod name;
pub mod profile;
mod spec;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use name::{BadToolName, ToolName};
pub use spec::ToolSpec;

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
    /// The name on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }

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

impl Trust {
    /// The trust of a turn that has read this too: it only falls.
    #[must_use]
    pub fn after_reading(self, content: Self) -> Self {
        self.max(content)
    }
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

#[cfg(test)]
mod tests {
    use super::Trust;

    /// Z10: once a turn has read from outside, it stays untrusted.
    #[test]
    fn z10_trust_only_falls() {
        use Trust::{Trusted, Untrusted};
        for (turn, content, after) in [
            (Trusted, Trusted, Trusted),
            (Trusted, Untrusted, Untrusted),
            (Untrusted, Trusted, Untrusted),
            (Untrusted, Untrusted, Untrusted),
        ] {
            assert_eq!(turn.after_reading(content), after, "{turn:?} {content:?}");
        }
    }
}
