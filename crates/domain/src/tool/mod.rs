//! Tools as policy sees them: what a tool affects and what it costs.
//!
//! The description and JSON Schema for the model, and the implementation, live with the
//! tool itself. Nothing here runs anything.

pub mod catalogue;
mod checks;
pub mod http;
pub mod mcp;
mod name;
pub mod org_tools;
mod problem;
pub mod profile;
mod secret_text;
mod spec;
pub mod template;
mod units;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::ContactId;

pub use name::{InvalidToolName, ToolName};
pub use problem::ToolProblem;
pub use secret_text::SecretText;
pub use spec::ToolSpec;
pub use units::PricedUnits;

/// Kind of access of a tool, for the permissions of an interactive harness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ToolCategory {
    Read,
    /// Changes files or records.
    Edit,
    /// Runs commands.
    Execute,
    /// Belongs to an MCP server.
    Mcp,
    Other,
}

impl ToolCategory {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Execute => "execute",
            Self::Mcp => "mcp",
            Self::Other => "other",
        }
    }
}

/// For whom an agent works at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Somebody outside: tools show and change the records of that person only.
    Customer,
    /// The org's own people and processes.
    Staff,
}

impl Audience {
    /// Returns the name shown on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Staff => "staff",
        }
    }

    /// The audience of what declares none.
    pub(crate) const fn staff() -> Self {
        Self::Staff
    }

    /// Returns whether somebody of this audience may use a tool that is made for `tool`.
    pub const fn may_use(self, tool: Self) -> bool {
        matches!((self, tool), (Self::Staff, _) | (_, Self::Customer))
    }

    /// Returns whether a personal record of `owner` may be shown and changed, where
    /// `contact` is the known person of the conversation. A customer has access to records
    /// of their own only, and to none while they are not known.
    pub fn may_access(self, owner: Option<ContactId>, contact: Option<ContactId>) -> bool {
        match self {
            Self::Staff => true,
            Self::Customer => owner.is_some() && owner == contact,
        }
    }
}

/// How bad a wrong call would be, from harmless to harmful.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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
    /// Returns the name shown on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// Where the effect of a tool happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// In our own store, as part of the turn's commit.
    Local,
    /// In another system, where nothing can be rolled back.
    External,
}

impl Reach {
    /// Returns the name shown on screens.
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
    /// Written by the org about a person. It may be followed, and must not leave by itself.
    Private,
    /// From outside: the web, e-mail, MCP, what customers wrote.
    Untrusted,
}

impl Trust {
    /// Returns the trust of a turn that has also read `content`. It never rises.
    #[must_use]
    pub fn after_reading(self, content: Self) -> Self {
        self.max(content)
    }
}

/// The part of the product that a tool belongs to; profiles and layers refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolGroup {
    Crm,
    Offers,
    Bookings,
    Orders,
    Media,
    Knowledge,
    Web,
    /// Messages to people who have not written first.
    Outreach,
    /// The org's own settings and agents.
    Management,
    Agency,
    PlatformAdmin,
    CrossLayer,
    /// Handoffs between agents and humans of one conversation.
    Team,
    /// Tools that an org or a user has defined: HTTP tools and tools of MCP servers.
    Custom,
}

/// How the gate treats a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRole {
    /// Passes every check.
    Ordinary,
    /// Makes a proposal that a person decides on, so that no autonomy level asks about the
    /// call itself.
    Proposal,
    /// Controls the conversation itself (asking, planning, handing over). It passes the
    /// scope only and never needs approval.
    Control,
}

/// An external service that tools may need.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Integration(String);

impl Integration {
    /// Creates the integration with this name.
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
    use super::{Audience, Trust};
    use crate::id::ContactId;

    /// S01: a customer has access to their own records only, and to none while unknown.
    #[test]
    fn s01_customers_have_access_to_their_own_records_only() {
        use Audience::{Customer, Staff};
        let [rosa, otto] = [1, 2].map(|id| Some(ContactId::from_u128(id)));
        for (audience, owner, contact, allowed) in [
            (Staff, rosa, None, true),
            (Staff, None, None, true),
            (Customer, rosa, rosa, true),
            (Customer, otto, rosa, false),
            (Customer, rosa, None, false),
            (Customer, None, rosa, false),
            (Customer, None, None, false),
        ] {
            let access = audience.may_access(owner, contact);
            assert_eq!(access, allowed, "{audience:?} {owner:?} {contact:?}");
        }
    }

    /// Z10: once a turn has read content from outside, it stays untrusted.
    #[test]
    fn z10_trust_only_falls() {
        use Trust::{Private, Trusted, Untrusted};
        for (turn, content, after) in [
            (Trusted, Trusted, Trusted),
            (Trusted, Private, Private),
            (Private, Trusted, Private),
            (Private, Untrusted, Untrusted),
            (Trusted, Untrusted, Untrusted),
            (Untrusted, Trusted, Untrusted),
            (Untrusted, Untrusted, Untrusted),
        ] {
            assert_eq!(turn.after_reading(content), after, "{turn:?} {content:?}");
        }
    }
}
