//! Who receives what is sent up or down the org tree.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, OrgId};
use crate::org::layer::{BusinessLayer, Standing};
use crate::org::{Org, Place, Relation};

/// An agent that can receive something, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    /// Its org.
    pub org: OrgId,
    /// The agent.
    pub agent: AgentId,
    /// Its business layer.
    pub business_layer: BusinessLayer,
}

/// Who is above an agent, as far as there is somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Above {
    /// The PM of the agent's own org.
    pub own_pm: Option<Receiver>,
    /// The PM of the parent org.
    pub parent_pm: Option<Receiver>,
    /// The platform's agent.
    pub platform: Option<Receiver>,
}

/// Nobody can receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoute {
    /// The platform is at the top.
    #[error("the platform has nobody above it to escalate to")]
    AtTheTop,
    /// The org above has no agent for this.
    #[error("nobody one layer up can take this; ask a person")]
    NobodyThere,
    /// The org has no agency above it.
    #[error("this organization has no parent agency to share insights with")]
    NoParent,
    /// The client is not one of the caller's.
    #[error("this organization has no such client")]
    NotAChild,
}

/// Who receives an issue that an agent sends up: one business layer above it.
/// Where the org has no PM of its own, its parent's takes the place.
pub fn escalation_target(
    from: &Standing,
    place: Place,
    above: &Above,
) -> Result<Receiver, NoRoute> {
    let next_org = match place {
        Place::SubOrg { .. } => above.parent_pm,
        Place::TopLevel | Place::Platform => above.platform,
    };
    let target = match from.guarded_as {
        BusinessLayer::Platform => return Err(NoRoute::AtTheTop),
        BusinessLayer::EndCustomer => above.own_pm.or(next_org),
        BusinessLayer::Agency | BusinessLayer::Client => next_org,
    };
    target.ok_or(NoRoute::NobodyThere)
}

/// The org that receives an insight: the parent agency, from layers 3 and 4 alike.
pub fn insight_target(from: &Org) -> Result<OrgId, NoRoute> {
    from.parent().ok_or(NoRoute::NoParent)
}

/// Whether work may be delegated to an org: only to a child of one's own.
pub fn check_delegation(from: &Org, to: &Org) -> Result<(), NoRoute> {
    match from.relation_to(to) {
        Relation::Child => Ok(()),
        Relation::Own | Relation::Parent | Relation::Unrelated => Err(NoRoute::NotAChild),
    }
}

#[cfg(test)]
mod tests {
    use super::{Above, NoRoute, Receiver, check_delegation, escalation_target, insight_target};
    use crate::agent::subtype::Subtype;
    use crate::id::AgentId;
    use crate::org::layer::{BusinessLayer, Standing};
    use crate::org::{Org, Place};
    use crate::testing;

    fn receiver(org: &Org, agent: u128, business_layer: BusinessLayer) -> Receiver {
        Receiver { org: org.id, agent: AgentId::from_u128(agent), business_layer }
    }

    /// L17, L18, L19, L23: one layer up, and nobody is above the platform.
    #[test]
    fn l17_to_l19_an_issue_goes_one_layer_up() {
        let (platform, agency, client) =
            (testing::platform(), testing::agency(), testing::client());
        let luca = receiver(&client, 3, BusinessLayer::Client);
        let mara = receiver(&agency, 2, BusinessLayer::Agency);
        let quinn = receiver(&platform, 1, BusinessLayer::Platform);
        let all = Above { own_pm: Some(luca), parent_pm: Some(mara), platform: Some(quinn) };
        let no_pm = Above { own_pm: None, ..all };
        let at_agency = Above { own_pm: Some(mara), parent_pm: None, platform: Some(quinn) };
        let table = [
            ("L17", &client, "customer_service", all, Ok(luca)),
            ("L17 no PM", &client, "customer_service", no_pm, Ok(mara)),
            ("L18", &client, "pm", all, Ok(mara)),
            ("L18 other", &client, "booking_agent", all, Ok(mara)),
            ("L19", &agency, "pm", at_agency, Ok(quinn)),
            ("L23 top-level", &agency, "sales_assistant", at_agency, Ok(quinn)),
            ("L17 top-level", &agency, "customer_service", at_agency, Ok(mara)),
            ("L23", &platform, "system", at_agency, Err(NoRoute::AtTheTop)),
            ("nobody", &client, "pm", Above::default(), Err(NoRoute::NobodyThere)),
        ];
        for (row, org, subtype, above, expected) in table {
            let standing = Standing::of(org, &Subtype::from(subtype));
            assert_eq!(escalation_target(&standing, org.place, &above), expected, "{row}");
        }
    }

    /// L28: insights go to the parent agency; a top-level org has none.
    #[test]
    fn l28_an_insight_goes_to_the_parent() {
        assert_eq!(insight_target(&testing::client()), Ok(testing::agency().id));
        assert_eq!(insight_target(&testing::agency()), Err(NoRoute::NoParent));
    }

    /// L25: work goes to a child of one's own org and to no other.
    #[test]
    fn l25_work_goes_to_a_child_only() {
        let (agency, client) = (testing::agency(), testing::client());
        let foreign =
            Org { place: Place::SubOrg { parent: testing::platform().id }, ..client.clone() };
        assert_eq!(check_delegation(&agency, &client), Ok(()));
        for (from, to) in [(&agency, &foreign), (&client, &agency), (&agency, &agency)] {
            assert_eq!(check_delegation(from, to), Err(NoRoute::NotAChild), "{}", to.slug);
        }
    }
}
