//! Routing in the org tree: who receives issues, insights, delegations and
//! instructions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::subtype::Subtype;
use crate::agent::{Agent, AgentKind, AgentStatus, Protection};
use crate::id::{AgentId, OrgId};
use crate::org::layer::{BusinessLayer, BusinessPosition};
use crate::org::{Org, OrgPlace, Relation};

/// The sender or receiver of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Party {
    pub org: OrgId,
    pub agent: AgentId,
    pub business_layer: BusinessLayer,
}

/// The possible receivers of an issue from an agent; `None` where there is no such
/// agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EscalationTargets {
    pub own_pm: Option<Party>,
    pub parent_pm: Option<Party>,
    pub platform: Option<Party>,
}

/// The reason why something cannot be sent to another agent or org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoute {
    /// The sender is the platform, which has no layer above it.
    #[error("the platform has no layer above it to escalate to")]
    TopOfHierarchy,
    /// The layer above has no agent that can receive it.
    #[error("no agent one layer up can receive this; ask a person")]
    NoReceiver,
    /// The org has no parent agency.
    #[error("this organization has no parent agency to share insights with")]
    NoParent,
    /// The agent does not take instructions from the sender.
    #[error("you cannot instruct this agent")]
    CannotInstruct,
    /// The org is not a child of the sender's.
    #[error("this organization has no such client")]
    NotAChild,
}

/// Returns the receiver of an issue: one business layer up. In a sub-org without a
/// PM the parent's PM receives it. An issue from layer 4 never goes straight to the
/// platform.
pub fn escalation_target(
    from: &BusinessPosition,
    place: OrgPlace,
    targets: &EscalationTargets,
) -> Result<Party, NoRoute> {
    let parent = match place {
        OrgPlace::SubOrg { .. } => targets.parent_pm,
        OrgPlace::TopLevel | OrgPlace::Platform => None,
    };
    let target = match from.guardrail_layer {
        BusinessLayer::Platform => return Err(NoRoute::TopOfHierarchy),
        BusinessLayer::Agency => targets.platform,
        BusinessLayer::Client => parent,
        BusinessLayer::EndCustomer => targets.own_pm.or(parent),
    };
    target.ok_or(NoRoute::NoReceiver)
}

/// Returns the org that receives an insight: the parent agency, from layers 3 and 4
/// alike.
pub fn insight_target(from: &Org) -> Result<OrgId, NoRoute> {
    from.parent().ok_or(NoRoute::NoParent)
}

/// Checks that work may be delegated to an org: to a child org, and from the
/// platform to a top-level org.
pub fn check_delegation(from: &Org, to: &Org) -> Result<(), NoRoute> {
    match (from.place, from.relation_to(to)) {
        (_, Relation::Child) => Ok(()),
        (OrgPlace::Platform, Relation::Unrelated) if to.place == OrgPlace::TopLevel => Ok(()),
        _ => Err(NoRoute::NotAChild),
    }
}

/// Checks that an agent may instruct another: a PM instructs the active,
/// unprotected agents of its own org.
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
        EscalationTargets, NoRoute, Party, check_delegation, check_instruction, escalation_target,
        insight_target,
    };
    use crate::agent::subtype::Subtype;
    use crate::agent::{AgentStatus, Protection};
    use crate::id::AgentId;
    use crate::org::layer::{BusinessLayer, BusinessPosition};
    use crate::org::{Org, OrgPlace};
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
        let all =
            EscalationTargets { own_pm: Some(luca), parent_pm: Some(mara), platform: Some(quinn) };
        let no_pm = EscalationTargets { own_pm: None, ..all };
        let at_agency =
            EscalationTargets { own_pm: Some(mara), parent_pm: None, platform: Some(quinn) };
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
                EscalationTargets { own_pm: None, ..at_agency },
                Err(NoRoute::NoReceiver),
            ),
            ("L23", &platform, "system", at_agency, Err(NoRoute::TopOfHierarchy)),
            ("nobody", &client, "pm", EscalationTargets::default(), Err(NoRoute::NoReceiver)),
        ];
        for (row, org, subtype, targets, expected) in table {
            let position = BusinessPosition::of(org, &Subtype::from(subtype));
            assert_eq!(escalation_target(&position, org.place, &targets), expected, "{row}");
        }
    }

    /// L28: insights go to the parent agency; a top-level org has none.
    #[test]
    fn l28_an_insight_goes_to_the_parent() {
        assert_eq!(insight_target(&testing::client()), Ok(testing::agency().id));
        assert_eq!(insight_target(&testing::agency()), Err(NoRoute::NoParent));
    }

    /// L25, L31: work goes to a child org, from the platform to a top-level org, and
    /// nowhere else.
    #[test]
    fn l25_l31_work_goes_one_layer_down() {
        let (platform, agency, client) =
            (testing::platform(), testing::agency(), testing::client());
        let other = OrgPlace::SubOrg { parent: platform.id };
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
