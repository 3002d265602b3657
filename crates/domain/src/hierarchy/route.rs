//! Who receives what is sent up or down the org tree.

use serde::{Deserialize, Serialize};

use crate::agent::subtype::Subtype;
use crate::agent::{Agent, AgentKind, AgentStatus, Protection};
use crate::id::{AgentId, OrgId};
use crate::org::layer::{BusinessLayer, Standing};
use crate::org::{Org, Place, Relation};

/// An agent at one end of something that travels between layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
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
    pub own_pm: Option<Party>,
    /// The PM of the parent org.
    pub parent_pm: Option<Party>,
    /// The platform's agent.
    pub platform: Option<Party>,
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
    /// The other agent does not take instructions from this one.
    #[error("you cannot instruct this agent")]
    CannotInstruct,
    /// The client is not one of the caller's.
    #[error("this organization has no such client")]
    NotAChild,
}

/// Who receives an issue that an agent sends up: one business layer above it.
/// Where a sub-org has no PM of its own, its parent's takes the place. From
/// layer 4 no way leads straight to the platform.
pub fn escalation_target(from: &Standing, place: Place, above: &Above) -> Result<Party, NoRoute> {
    let parent = match place {
        Place::SubOrg { .. } => above.parent_pm,
        Place::TopLevel | Place::Platform => None,
    };
    let target = match from.guarded_as {
        BusinessLayer::Platform => return Err(NoRoute::AtTheTop),
        BusinessLayer::Agency => above.platform,
        BusinessLayer::Client => parent,
        BusinessLayer::EndCustomer => above.own_pm.or(parent),
    };
    target.ok_or(NoRoute::NobodyThere)
}

/// The org that receives an insight: the parent agency, from layers 3 and 4 alike.
pub fn insight_target(from: &Org) -> Result<OrgId, NoRoute> {
    from.parent().ok_or(NoRoute::NoParent)
}

/// Whether work may be delegated to an org: to a child of one's own, and from
/// the platform to a top-level org.
pub fn check_delegation(from: &Org, to: &Org) -> Result<(), NoRoute> {
    match (from.place, from.relation_to(to)) {
        (_, Relation::Child) => Ok(()),
        (Place::Platform, Relation::Unrelated) if to.place == Place::TopLevel => Ok(()),
        _ => Err(NoRoute::NotAChild),
    }
}

/// Whether an agent may instruct another: the PM the other active agents of
/// its org, except protected ones.
pub fn check_instruction(from: &Agent, to: &Agent) -> Result<(), NoRoute> {
    let manages = from.subtype == Subtype::Pm && to.subtype != Subtype::Pm;
    let working = to.status == AgentStatus::Active && to.kind != AgentKind::Template;
    let open = to.protection == Protection::Open;
    if manages && working && open && from.org == to.org {
        Ok(())
    } else {
        Err(NoRoute::CannotInstruct)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Above, NoRoute, Party, check_delegation, check_instruction, escalation_target,
        insight_target,
    };
    use crate::agent::subtype::Subtype;
    use crate::agent::{AgentStatus, Protection};
    use crate::id::AgentId;
    use crate::org::layer::{BusinessLayer, Standing};
    use crate::org::{Org, Place};
    use crate::testing;

    fn party(org: &Org, agent: u128, business_layer: BusinessLayer) -> Party {
        Party { org: org.id, agent: AgentId::from_u128(agent), business_layer }
    }

    /// L17, L18, L19, L23: one layer up, and nobody is above the platform.
    #[test]
    fn l17_to_l19_an_issue_goes_one_layer_up() {
        let (platform, agency, client) =
            (testing::platform(), testing::agency(), testing::client());
        let luca = party(&client, 3, BusinessLayer::Client);
        let mara = party(&agency, 2, BusinessLayer::Agency);
        let quinn = party(&platform, 1, BusinessLayer::Platform);
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
            (
                "no PM at top level",
                &agency,
                "customer_service",
                Above { own_pm: None, ..at_agency },
                Err(NoRoute::NobodyThere),
            ),
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

    /// L25, L31: work goes to a child of one's own org, from the platform to a
    /// top-level org, and nowhere else.
    #[test]
    fn l25_l31_work_goes_one_layer_down() {
        let (platform, agency, client) =
            (testing::platform(), testing::agency(), testing::client());
        let other = Place::SubOrg { parent: platform.id };
        let foreign = Org { place: other, ..client.clone() };
        assert_eq!(check_delegation(&agency, &client), Ok(()));
        assert_eq!(check_delegation(&platform, &agency), Ok(()));
        for (from, to) in [
            (&agency, &foreign),
            (&client, &agency),
            (&agency, &agency),
            (&agency, &platform),
            (&platform, &client),
        ] {
            let refused = check_delegation(from, to);
            assert_eq!(refused, Err(NoRoute::NotAChild), "{} to {}", from.slug, to.slug);
        }
    }

    /// L30: a client's PM instructs its org's agents; nobody at layer 4 does.
    #[test]
    fn l30_a_pm_instructs_its_own_agents() {
        let luca = testing::agent("luca", Subtype::Pm);
        let gia = testing::agent("gia", Subtype::CustomerService);
        let mut foreign = testing::agent("otto", Subtype::CustomerService);
        foreign.org = testing::agency().id;
        let mut protected = testing::agent("quinn", Subtype::CustomerService);
        protected.protection = Protection::Protected;
        let booking = testing::agent("bob", Subtype::BookingAgent);
        let coordinator = testing::agent("cora", Subtype::Coordinator);
        let mut paused = testing::agent("paula", Subtype::CustomerService);
        paused.status = AgentStatus::Paused;
        let no = Err(NoRoute::CannotInstruct);
        let table = [
            (&luca, &gia, Ok(())),
            (&luca, &booking, Ok(())),
            (&gia, &luca, no),
            (&booking, &gia, no),
            (&coordinator, &gia, no),
            (&luca, &foreign, no),
            (&luca, &protected, no),
            (&luca, &paused, no),
            (&luca, &luca, no),
        ];
        for (from, to, expected) in table {
            let ruling = check_instruction(from, to);
            assert_eq!(ruling, expected, "{} to {}", from.slug, to.slug);
        }
    }
}
