//! Specification of a tool for policy.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Audience, Integration, PricedUnits, Reach, Risk, ToolCategory, ToolGroup, ToolName, ToolRole,
    Trust,
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
    /// For whom agents may use it.
    #[serde(default = "Audience::staff")]
    pub audience: Audience,
    /// The argument with the URL to call, if the model chooses the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_argument: Option<String>,
    /// Of a call, or of each of its units.
    pub price: Credits,
    /// What the price is for, if it is not for a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<PricedUnits>,
}

impl ToolSpec {
    /// Creates a tool that reads from our own store. It is for staff, like every new tool.
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
            audience: Audience::Staff,
            url_argument: None,
            price: Credits::ZERO,
            units: None,
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

    /// Returns whether a call has its effect outside of the conversation: in another system, or
    /// on agents, settings and organizations.
    pub const fn acts_outside(&self) -> bool {
        use ToolGroup::{Agency, Management, Outreach, PlatformAdmin};
        matches!(self.reach, Reach::External)
            || matches!(self.group, Agency | Management | Outreach | PlatformAdmin)
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

    /// Marks the output as about people: it must not leave by itself.
    #[must_use]
    pub fn private(self) -> Self {
        Self { output: self.output.after_reading(Trust::Private), ..self }
    }

    /// Marks the tool as calling the URL in this argument, which the model chooses.
    #[must_use]
    pub fn calls_url(self, argument: &str) -> Self {
        Self { url_argument: Some(argument.to_owned()), ..self }
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

    /// Marks the tool as usable where a customer is in the conversation. It must answer for
    /// the customer of the conversation only.
    #[must_use]
    pub fn for_customers(self) -> Self {
        self.for_audience(Audience::Customer)
    }

    /// Sets for whom the tool is made.
    #[must_use]
    pub fn for_audience(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// Sets the price of a call.
    #[must_use]
    pub fn priced(self, credits: u64) -> Self {
        Self { price: Credits::new(credits), ..self }
    }

    /// Makes the price that of one unit.
    #[must_use]
    pub fn per_unit(self, units: PricedUnits) -> Self {
        Self { units: Some(units), ..self }
    }

    /// Returns the most that a call with these arguments costs.
    pub fn price_of(&self, arguments: &Value) -> Credits {
        match &self.units {
            Some(units) => self.price_of_units(units.most(arguments)),
            None => self.price,
        }
    }

    /// Returns what a number of units costs. Every call has one at least.
    pub fn price_of_units(&self, units: u32) -> Credits {
        Credits::new(self.price.get().saturating_mul(units.max(1).into()))
    }

    /// Returns the price in words: `2 credits per recipient`.
    pub fn price_text(&self) -> String {
        match &self.units {
            Some(units) => format!("{} per {}", self.price, units.name),
            None => self.price.to_string(),
        }
    }
}
