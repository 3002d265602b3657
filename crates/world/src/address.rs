//! Addresses: the kind, org and name of a resource.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kind of a resource, in the order in which resources are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Platform,
    Org,
    Tool,
    McpServer,
    Agent,
    Channel,
    Integration,
    Document,
    Member,
    Workflow,
    Schedule,
}

impl Kind {
    /// All kinds, in the order in which they are created.
    pub const ALL: [Self; 11] = [
        Self::Platform,
        Self::Org,
        Self::Tool,
        Self::McpServer,
        Self::Agent,
        Self::Channel,
        Self::Integration,
        Self::Document,
        Self::Member,
        Self::Workflow,
        Self::Schedule,
    ];

    /// Returns the name of its tables in a world file.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Org => "org",
            Self::Tool => "tool",
            Self::McpServer => "mcp_server",
            Self::Agent => "agent",
            Self::Channel => "channel",
            Self::Integration => "integration",
            Self::Document => "document",
            Self::Member => "member",
            Self::Workflow => "workflow",
            Self::Schedule => "schedule",
        }
    }

    /// Returns the key that names a resource of this kind.
    pub const fn name_key(self) -> &'static str {
        match self {
            Self::Platform => "",
            Self::Org | Self::Agent => "slug",
            Self::Tool | Self::McpServer | Self::Channel | Self::Workflow | Self::Schedule => {
                "name"
            }
            Self::Integration => "service",
            Self::Document => "title",
            Self::Member => "email",
        }
    }
}

/// The address of a resource: its kind, org and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The slug of the org that it belongs to. An org belongs to itself, and the
    /// platform's policy to the empty name.
    pub org: String,
    pub kind: Kind,
    pub name: String,
}

impl Address {
    /// Returns the address of an org.
    pub fn of_org(slug: &str) -> Self {
        Self { org: slug.to_owned(), kind: Kind::Org, name: slug.to_owned() }
    }

    /// Returns the address of what applies to every org.
    pub const fn of_platform() -> Self {
        Self { org: String::new(), kind: Kind::Platform, name: String::new() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Platform => f.write_str("platform"),
            Kind::Org => write!(f, "org {}", self.name),
            kind => write!(f, "{} {}/{}", kind.table(), self.org, self.name),
        }
    }
}

/// The text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the address of a resource")]
pub struct InvalidAddress(String);

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.to_owned());
        if text == "platform" {
            return Ok(Self::of_platform());
        }
        let (table, rest) = text.split_once(' ').ok_or_else(invalid)?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.table() == table).ok_or_else(invalid)?;
        if kind == Kind::Org {
            return Ok(Self::of_org(rest));
        }
        let (org, name) = rest.split_once('/').ok_or_else(invalid)?;
        Ok(Self { org: org.to_owned(), kind, name: name.to_owned() })
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
