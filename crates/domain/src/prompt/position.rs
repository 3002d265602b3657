//! Prompt section on the agent's business layer, role and limits.

use super::fill;
use crate::org::Org;
use crate::org::layer::{BusinessLayer, BusinessPosition};

/// Returns the section on the agent's position in the hierarchy.
///
/// Names the parent agency at layer 3 only: the agent of an end customer never learns
/// whose client its org is. Mentions escalation if the agent has the tool for it.
pub fn section(
    position: &BusinessPosition,
    org: &Org,
    parent: Option<&Org>,
    can_escalate: bool,
) -> String {
    let layer = position.guardrail_layer;
    let parent = parent.filter(|_| layer == BusinessLayer::Client);
    let mut lines = vec![
        "## Your position in the organization hierarchy".to_owned(),
        String::new(),
        format!("**Business layer:** Layer {} of 4 ({})", layer.number(), layer.name()),
    ];
    lines.extend(
        parent.map(|parent| {
            format!("**Parent agency:** {} ({} tier)", parent.name, parent.plan.name())
        }),
    );
    let agency = parent.map(|parent| format!(" under the {} agency", parent.name));
    let values = [("org", org.name.as_str()), ("agency", agency.as_deref().unwrap_or(""))];
    lines.push(fill(text(layer).trim_end(), &values));
    lines.extend(escalation(layer).filter(|_| can_escalate).map(str::to_owned));
    lines.join("\n")
}

const fn escalation(layer: BusinessLayer) -> Option<&'static str> {
    match layer {
        BusinessLayer::Platform | BusinessLayer::Agency => None,
        BusinessLayer::Client => {
            Some("**Escalation:** Use escalate_to_parent to send issues to your agency's PM.")
        }
        BusinessLayer::EndCustomer => {
            Some("**Escalation:** Use escalate_to_parent to send complex issues to the PM.")
        }
    }
}

const fn text(layer: BusinessLayer) -> &'static str {
    match layer {
        BusinessLayer::Platform => include_str!("texts/position_1.md"),
        BusinessLayer::Agency => include_str!("texts/position_2.md"),
        BusinessLayer::Client => include_str!("texts/position_3.md"),
        BusinessLayer::EndCustomer => include_str!("texts/position_4.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::section;
    use crate::agent::subtype::Subtype;
    use crate::org::Org;
    use crate::org::layer::BusinessPosition;
    use crate::testing;

    fn of(org: &Org, subtype: &str) -> String {
        let parent = testing::agency();
        section(&BusinessPosition::of(org, &Subtype::from(subtype)), org, Some(&parent), true)
    }

    /// L02, L04: the text of layer 2.
    #[test]
    fn l04_layer_2() {
        insta::assert_snapshot!(of(&testing::agency(), "pm"), @r#"
        ## Your position in the organization hierarchy

        **Business layer:** Layer 2 of 4 (Agency)
        **Role:** You manage the client organizations of "Harbour Agency" and their agents.
        **You can:** Create client organizations, deploy bots, monitor how clients are doing.
        **You cannot:** Change the souls of clients' agents directly, or run tools on their behalf.
        "#);
    }

    /// L02, L03, L04, L05: the text of layer 3 names the parent and its tier.
    #[test]
    fn l03_l04_l05_layer_3() {
        insta::assert_snapshot!(of(&testing::client(), "pm"), @r#"
        ## Your position in the organization hierarchy

        **Business layer:** Layer 3 of 4 (Client)
        **Parent agency:** Harbour Agency (agency tier)
        **Role:** You manage operations for "Bella Pizza" under the Harbour Agency agency.
        **You can:** Manage contacts, products, events and the team within your organization.
        **You cannot:** See the parent agency's data, create client organizations, or change agency-level settings.
        **Escalation:** Use escalate_to_parent to send issues to your agency's PM.
        "#);
    }

    /// L02, L04, L05, L48: the text of layer 4 says nothing of the parent.
    #[test]
    fn l04_l05_layer_4() {
        insta::assert_snapshot!(of(&testing::client(), "customer_service"), @r#"
        ## Your position in the organization hierarchy

        **Business layer:** Layer 4 of 4 (End-Customer)
        **Role:** You handle customer conversations for "Bella Pizza".
        **You can:** Answer questions, search products, create bookings.
        **You cannot:** Change organization settings, see analytics, manage the team, or propose soul changes.
        **Escalation:** Use escalate_to_parent to send complex issues to the PM.
        "#);
    }

    /// L02, L03: each layer by number and name; the parent at layer 3 only.
    #[test]
    fn l02_l03_layer_and_parent() {
        let table = [
            (testing::platform(), "system", "Layer 1 of 4 (Platform)", false),
            (testing::agency(), "pm", "Layer 2 of 4 (Agency)", false),
            (testing::client(), "pm", "Layer 3 of 4 (Client)", true),
            (testing::client(), "customer_service", "Layer 4 of 4 (End-Customer)", false),
        ];
        for (org, subtype, layer, names_parent) in table {
            let text = of(&org, subtype);
            assert!(text.contains(layer), "{text}");
            assert_eq!(text.contains("Parent agency:"), names_parent, "{text}");
        }
    }

    /// L04: customer service of a top-level org gets the text of layer 4.
    #[test]
    fn l04_top_level_customer_service() {
        let text = of(&testing::agency(), "customer_service");
        assert!(text.contains("Layer 4 of 4"), "{text}");
        assert!(text.contains("You handle customer conversations for \"Harbour Agency\"."));
    }

    /// L05: layers 3 and 4 know where to escalate to.
    #[test]
    fn l05_layers_3_and_4_can_escalate() {
        for subtype in ["pm", "customer_service", "booking_agent"] {
            assert!(of(&testing::client(), subtype).contains("escalate_to_parent"), "{subtype}");
        }
        assert!(!of(&testing::platform(), "system").contains("escalate_to_parent"));
    }
}
