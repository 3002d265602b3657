//! Specification of a tool for policy.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    Audience, Integration, Reach, Risk, ToolCategory, ToolGroup, ToolName, ToolRole, Trust,
};
use crate::money::Credits;
use crate::org::guardrail::Capability;

/// Everything that policy knows of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: ToolName,
    pub group: ToolGroup,
    pub category: ToolCategory,
    pub risk: Risk,
    pub reach: Reach,
    pub role: ToolRole,
    /// Whether its output may be followed.
    pub output: Trust,
    pub integrations: BTreeSet<Integration>,
    /// The guardrail capability it needs.
    pub capability: Option<Capability>,
    /// For whom an org has made the tool; `None` for tools that the business layers decide
    /// about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Audience>,
    pub price: Credits,
}

impl ToolSpec {
    /// Creates a tool that reads from our own store.
    pub fn read(name: ToolName, group: ToolGroup) -> Self {
        Self {
            name,
            group,
            category: ToolCategory::Read,
            risk: Risk::Read,
            reach: Reach::Local,
            role: ToolRole::Ordinary,
            output: Trust::Trusted,
            integrations: BTreeSet::new(),
            capability: None,
            audience: None,
            price: Credits::ZERO,
        }
    }

    /// Creates a tool that changes records in our own store.
    pub fn write(name: ToolName, group: ToolGroup) -> Self {
        Self {
            category: ToolCategory::Edit,
            risk: Risk::Write,
            price: Credits::new(1),
            ..Self::read(name, group)
        }
    }

    /// Creates a tool that controls the conversation.
    pub fn control(name: ToolName, group: ToolGroup) -> Self {
        Self {
            category: ToolCategory::Other,
            risk: Risk::Write,
            role: ToolRole::Control,
            ..Self::read(name, group)
        }
    }

    /// Marks the tool as losing or moving something for good.
    #[must_use]
    pub fn destructive(self) -> Self {
        Self { risk: Risk::Destructive, ..self }
    }

    /// Marks the tool as making a proposal that a person decides on.
    #[must_use]
    pub fn proposing(self) -> Self {
        Self { role: ToolRole::Proposal, ..self }
    }

    /// Marks the tool as having its effect in another system.
    #[must_use]
    pub fn external(self) -> Self {
        Self { reach: Reach::External, ..self }
    }

    /// Marks the output as coming from outside.
    #[must_use]
    pub fn untrusted(self) -> Self {
        Self { output: Trust::Untrusted, ..self }
    }

    /// Adds an integration that the tool needs.
    #[must_use]
    pub fn needs_integration(mut self, integration: &str) -> Self {
        self.integrations.insert(Integration::new(integration));
        self
    }

    /// Sets the guardrail capability that the tool needs.
    #[must_use]
    pub fn requires_capability(self, capability: Capability) -> Self {
        Self { capability: Some(capability), ..self }
    }

    /// Sets for whom the tool is made.
    #[must_use]
    pub fn for_audience(self, audience: Audience) -> Self {
        Self { audience: Some(audience), ..self }
    }

    /// Sets the price of a call.
    #[must_use]
    pub fn priced(self, credits: u64) -> Self {
        Self { price: Credits::new(credits), ..self }
    }
}
