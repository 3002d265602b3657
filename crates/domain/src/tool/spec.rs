//! All that policy knows of one tool.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Category, Integration, Reach, Risk, ToolGroup, ToolName, ToolRole, Trust};
use crate::money::Credits;
use crate::org::guardrail::Capability;

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
