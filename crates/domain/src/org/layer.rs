//! The business layer of an agent: platform, agency, client, end-customer.
//!
//! Derived from the org's place in the tree and the agent's subtype, never stored. Not
//! to be confused with the policy layers of a tool scope.
//!
//! [`BusinessPosition`] also has the layer whose guardrails apply: an agent that
//! talks to end customers is guarded as layer 4, wherever its org stands.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Org, OrgPlace};
use crate::agent::subtype::Subtype;
use crate::tool::Audience;

/// One of the four business layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BusinessLayer {
    /// Layer 1.
    Platform,
    /// Layer 2.
    Agency,
    /// Layer 3.
    Client,
    /// Layer 4.
    EndCustomer,
}

impl BusinessLayer {
    /// All layers, from the top.
    pub const ALL: [Self; 4] = [Self::Platform, Self::Agency, Self::Client, Self::EndCustomer];

    /// Returns the number, 1 to 4.
    pub const fn number(self) -> u8 {
        match self {
            Self::Platform => 1,
            Self::Agency => 2,
            Self::Client => 3,
            Self::EndCustomer => 4,
        }
    }

    /// Returns the name used in prompts and on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Platform => "Platform",
            Self::Agency => "Agency",
            Self::Client => "Client",
            Self::EndCustomer => "End-Customer",
        }
    }
}

impl fmt::Display for BusinessLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "business layer {} ({})", self.number(), self.name())
    }
}

impl JsonSchema for BusinessLayer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BusinessLayer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": 4,
            "description": "1 platform, 2 agency, 3 client, 4 end-customer"})
    }
}

impl Serialize for BusinessLayer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for BusinessLayer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        Self::ALL
            .into_iter()
            .find(|layer| layer.number() == number)
            .ok_or_else(|| serde::de::Error::custom("a business layer is a number from 1 to 4"))
    }
}

/// The business layer of an agent, and the layer whose guardrails apply to it.
///
/// The two differ for a `customer_service` agent outside a sub-org: an agent that
/// talks to end customers always has the guardrails of layer 4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusinessPosition {
    /// The layer that follows from the org's place and the subtype.
    pub business_layer: BusinessLayer,
    /// The layer whose tool filter, texts and rights apply.
    pub guardrail_layer: BusinessLayer,
    /// A coordinator has fewer rights at every layer.
    pub subtype: Subtype,
}

impl BusinessPosition {
    /// Returns the position of an agent with this subtype in this org.
    pub fn of(org: &Org, subtype: &Subtype) -> Self {
        let business_layer = business_layer(org.place, subtype);
        let guardrail_layer = match subtype {
            Subtype::CustomerService => BusinessLayer::EndCustomer,
            _ => business_layer,
        };
        Self { business_layer, guardrail_layer, subtype: subtype.clone() }
    }

    /// Returns the layer whose guardrails apply while the agent answers `audience`. An agent
    /// that answers a customer is guarded as layer 4.
    pub const fn guardrail_layer_for(&self, audience: Audience) -> BusinessLayer {
        match audience {
            Audience::Customer => BusinessLayer::EndCustomer,
            Audience::Staff => self.guardrail_layer,
        }
    }

    /// Returns the position from which the agent answers `audience`.
    #[must_use]
    pub fn facing(&self, audience: Audience) -> Self {
        Self { guardrail_layer: self.guardrail_layer_for(audience), ..self.clone() }
    }

    /// Returns the position of an agent with this subtype in any sub-org.
    pub fn in_sub_org(subtype: &Subtype) -> Self {
        let layer = match subtype {
            Subtype::CustomerService => BusinessLayer::EndCustomer,
            _ => BusinessLayer::Client,
        };
        Self { business_layer: layer, guardrail_layer: layer, subtype: subtype.clone() }
    }
}

/// Returns the business layer of an agent.
pub fn business_layer(place: OrgPlace, subtype: &Subtype) -> BusinessLayer {
    match (place, subtype) {
        (OrgPlace::Platform, Subtype::System) => BusinessLayer::Platform,
        (OrgPlace::SubOrg { .. }, Subtype::CustomerService) => BusinessLayer::EndCustomer,
        (OrgPlace::SubOrg { .. }, _) => BusinessLayer::Client,
        (OrgPlace::Platform | OrgPlace::TopLevel, _) => BusinessLayer::Agency,
    }
}

#[cfg(test)]
mod tests {
    use super::{BusinessLayer, BusinessPosition, business_layer};
    use crate::agent::subtype::Subtype;
    use crate::id::OrgId;
    use crate::org::OrgPlace;
    use crate::testing;

    /// L01: the rules 1-5 in order, over every place and subtype.
    #[test]
    fn l01_layer_follows_from_place_and_subtype() {
        use BusinessLayer::{Agency, Client, EndCustomer, Platform};
        let sub = OrgPlace::SubOrg { parent: OrgId::from_u128(2) };
        let table = [
            ("system", Platform, Agency, Client),
            ("pm", Agency, Agency, Client),
            ("customer_service", Agency, Agency, EndCustomer),
            ("sales_assistant", Agency, Agency, Client),
            ("booking_agent", Agency, Agency, Client),
            ("coordinator", Agency, Agency, Client),
            ("night_porter", Agency, Agency, Client),
        ];
        for (name, platform, top, below) in table {
            let subtype = Subtype::from(name);
            assert_eq!(business_layer(OrgPlace::Platform, &subtype), platform, "platform {name}");
            assert_eq!(business_layer(OrgPlace::TopLevel, &subtype), top, "top-level {name}");
            assert_eq!(business_layer(sub, &subtype), below, "sub-org {name}");
        }
    }

    /// B14, L04: customer service has the guardrails of layer 4 in every org.
    #[test]
    fn b14_customer_service_has_the_guardrails_of_layer_4_everywhere() {
        for org in [testing::platform(), testing::agency(), testing::client()] {
            let position = BusinessPosition::of(&org, &Subtype::CustomerService);
            assert_eq!(position.guardrail_layer, BusinessLayer::EndCustomer, "{}", org.slug);
            let position = BusinessPosition::of(&org, &Subtype::Pm);
            assert_eq!(position.guardrail_layer, position.business_layer, "{}", org.slug);
        }
    }
}
