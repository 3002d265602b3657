//! The business layer of an agent: platform, agency, client, end-customer.
//!
//! Derived from the org's place and the agent's subtype, never stored. Not to
//! be confused with the policy layers of a tool scope.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Org, Place};
use crate::agent::subtype::Subtype;

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
    /// All four, from the top.
    pub const ALL: [Self; 4] = [Self::Platform, Self::Agency, Self::Client, Self::EndCustomer];

    /// Its number, 1 to 4.
    pub const fn number(self) -> u8 {
        match self {
            Self::Platform => 1,
            Self::Agency => 2,
            Self::Client => 3,
            Self::EndCustomer => 4,
        }
    }

    /// Its name in prompts and on screens.
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

/// Where an agent stands: its layer, and the layer whose guardrails bind it.
///
/// The two differ for a `customer_service` agent outside a sub-org: whoever
/// talks to end customers is guarded as layer 4, wherever the org stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The layer that the org's place and the subtype give.
    pub business_layer: BusinessLayer,
    /// The layer whose tool filter, texts and rights apply.
    pub guarded_as: BusinessLayer,
    /// The agent's subtype; a coordinator has fewer rights at every layer.
    pub subtype: Subtype,
}

impl Standing {
    /// Where an agent of this subtype stands in this org.
    pub fn of(org: &Org, subtype: &Subtype) -> Self {
        let business_layer = business_layer(org.place, subtype);
        let guarded_as = match subtype {
            Subtype::CustomerService => BusinessLayer::EndCustomer,
            _ => business_layer,
        };
        Self { business_layer, guarded_as, subtype: subtype.clone() }
    }
}

/// The five rules, in order.
pub fn business_layer(place: Place, subtype: &Subtype) -> BusinessLayer {
    match (place, subtype) {
        (Place::Platform, Subtype::System) => BusinessLayer::Platform,
        (Place::SubOrg { .. }, Subtype::CustomerService) => BusinessLayer::EndCustomer,
        (Place::SubOrg { .. }, _) => BusinessLayer::Client,
        (Place::Platform | Place::TopLevel, _) => BusinessLayer::Agency,
    }
}

#[cfg(test)]
mod tests {
    use super::{BusinessLayer, Standing, business_layer};
    use crate::agent::subtype::Subtype;
    use crate::id::OrgId;
    use crate::org::Place;
    use crate::testing;

    /// L01: the rules 1-5 in order, over every place and subtype.
    #[test]
    fn l01_layer_follows_from_place_and_subtype() {
        use BusinessLayer::{Agency, Client, EndCustomer, Platform};
        let sub = Place::SubOrg { parent: OrgId::from_u128(2) };
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
            assert_eq!(business_layer(Place::Platform, &subtype), platform, "platform {name}");
            assert_eq!(business_layer(Place::TopLevel, &subtype), top, "top-level {name}");
            assert_eq!(business_layer(sub, &subtype), below, "sub-org {name}");
        }
    }

    /// B14, L04: customer service is guarded as layer 4 wherever its org stands.
    #[test]
    fn b14_customer_service_is_guarded_as_layer_4_everywhere() {
        for org in [testing::platform(), testing::agency(), testing::client()] {
            let standing = Standing::of(&org, &Subtype::CustomerService);
            assert_eq!(standing.guarded_as, BusinessLayer::EndCustomer, "{}", org.slug);
            let standing = Standing::of(&org, &Subtype::Pm);
            assert_eq!(standing.guarded_as, standing.business_layer, "{}", org.slug);
        }
    }
}
