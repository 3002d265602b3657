//! The specifications of the built-in tools.
//!
//! A new tool has its specification here and its code where its state is: tools on an org's
//! records in `tools` (a file, and an arm in `tools::catalogue`; one that writes also a
//! `StoreEffect`), those between agents and business layers in `runtime`.

use super::ToolGroup::{
    Agency, Bookings, Crm, CrossLayer, Knowledge, Management, Media, Offers, Orders, Outreach,
    PlatformAdmin, Team, Web,
};
use super::{PricedUnits, ToolName, ToolSpec};
use crate::org::guardrail::Capability;

/// Hands the conversation to another agent.
pub const TAG_IN_AGENT: ToolName = ToolName::from_static("tag_in_agent");
/// Hands the conversation to a person.
pub const ESCALATE_TO_HUMAN: ToolName = ToolName::from_static("escalate_to_human");
/// Sends an issue one business layer up.
pub const ESCALATE_TO_PARENT: ToolName = ToolName::from_static("escalate_to_parent");
/// Gives work to a client org.
pub const DELEGATE_TO_CHILD: ToolName = ToolName::from_static("delegate_to_child");
/// Sends a learning to the agency.
pub const SHARE_INSIGHT_UPWARD: ToolName = ToolName::from_static("share_insight_upward");
/// Proposes a change of an agent's soul.
pub const PROPOSE_SOUL_UPDATE: ToolName = ToolName::from_static("propose_soul_update");
/// Gives another agent of the org an instruction.
pub const INSTRUCT_AGENT: ToolName = ToolName::from_static("instruct_agent");
/// Acknowledges, resolves or dismisses an issue.
pub const DECIDE_ISSUE: ToolName = ToolName::from_static("decide_issue");
/// Accepts, completes or rejects work from the agency or the platform.
pub const ANSWER_DELEGATION: ToolName = ToolName::from_static("answer_delegation");
/// Acknowledges an insight of a client.
pub const ACKNOWLEDGE_INSIGHT: ToolName = ToolName::from_static("acknowledge_insight");

/// The most recipients of one `send_bulk_email`, at any business layer.
pub const MAX_BULK_RECIPIENTS: u32 = 1000;
/// The most recipients of one `send_bulk_email` that does not say how many they are.
pub const DEFAULT_BULK_RECIPIENTS: u32 = 20;

const SEND: Capability = Capability::SendExternalMessages;

/// Returns all built-in tools in the order they are listed.
pub fn built_in() -> Vec<ToolSpec> {
    let tool = ToolName::from_static;
    let read = |name, group| ToolSpec::read(tool(name), group);
    let write = |name, group| ToolSpec::write(tool(name), group);
    vec![
        read("query_org_data", Crm).for_customers().private(),
        read("search_contacts", Crm).for_customers().untrusted(),
        write("create_contact", Crm).for_customers(),
        write("update_contact", Crm).for_customers(),
        write("delete_contact", Crm).destructive(),
        read("export_contacts", Crm).untrusted().requires_capability(Capability::DataExport),
        write("import_contacts", Crm).requires_capability(Capability::BulkOperations),
        read("list_products", Offers).for_customers(),
        read("list_events", Offers).for_customers(),
        read("list_forms", Offers).for_customers(),
        read("get_form_responses", Offers).for_customers().untrusted(),
        write("create_booking", Bookings).for_customers(),
        write("cancel_booking", Bookings).for_customers().destructive(),
        read("get_order", Orders).for_customers().private(),
        write("refund_payment", Orders).for_customers().destructive().needs_integration("payments"),
        read("search_media", Media).for_customers(),
        read("search_unsplash_images", Media)
            .for_customers()
            .external()
            .untrusted()
            .needs_integration("unsplash"),
        read("search_knowledge", Knowledge).for_customers(),
        read("web_fetch", Web).external().untrusted().calls_url("url"),
        write("send_email", Outreach).requires_capability(SEND).priced(2),
        write("send_sms", Outreach).requires_capability(SEND).priced(2),
        write("send_bulk_email", Outreach)
            .requires_capability(Capability::BulkOperations)
            .priced(2)
            .per_unit(recipients()),
        write("update_org_settings", Management).requires_capability(Capability::ManageOrgSettings),
        write("update_agent", Management).requires_capability(Capability::ModifyAgents),
        ToolSpec::write(PROPOSE_SOUL_UPDATE, Management)
            .proposing()
            .requires_capability(Capability::SoulEvolution),
        ToolSpec::write(INSTRUCT_AGENT, Management),
        write("create_client_org", Agency).requires_capability(Capability::CreateSubOrgs),
        read("list_client_orgs", Agency),
        read("get_client_org_stats", Agency),
        write("deploy_telegram_bot", Agency).external().requires_capability(Capability::DeployBots),
        read("list_organizations", PlatformAdmin),
        write("set_org_plan", PlatformAdmin),
        write("suspend_organization", PlatformAdmin).destructive(),
        ToolSpec::control(ESCALATE_TO_PARENT, CrossLayer).for_customers(),
        ToolSpec::write(DELEGATE_TO_CHILD, CrossLayer),
        ToolSpec::write(SHARE_INSIGHT_UPWARD, CrossLayer).for_customers(),
        ToolSpec::write(DECIDE_ISSUE, CrossLayer),
        ToolSpec::write(ANSWER_DELEGATION, CrossLayer),
        ToolSpec::write(ACKNOWLEDGE_INSIGHT, CrossLayer),
        ToolSpec::control(TAG_IN_AGENT, Team).for_customers(),
        ToolSpec::control(ESCALATE_TO_HUMAN, Team).for_customers(),
    ]
}

/// Returns what `send_bulk_email` is priced by.
fn recipients() -> PricedUnits {
    PricedUnits {
        name: "recipient".to_owned(),
        list: "to".to_owned(),
        limit: "limit".to_owned(),
        default_limit: DEFAULT_BULK_RECIPIENTS,
        max: MAX_BULK_RECIPIENTS,
    }
}

#[cfg(test)]
mod tests {
    use super::built_in;
    use crate::money::Credits;
    use crate::tool::{Risk, ToolRole};
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_well_formed() {
        let tools = built_in();
        let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.len(), tools.len());
        for name in names {
            assert!(name.parse::<crate::tool::ToolName>().is_ok(), "{name}");
        }
    }

    /// E01: reads and control tools are free, other tools cost 1, outbound
    /// e-mail or SMS 2 for each recipient.
    #[test]
    fn e01_the_price_list_is_the_documented_one() {
        for tool in built_in() {
            let expected = match tool.name.as_str() {
                "send_email" | "send_sms" | "send_bulk_email" => 2,
                _ if tool.risk == Risk::Read || tool.role == ToolRole::Control => 0,
                _ => 1,
            };
            assert_eq!(tool.price, Credits::new(expected), "{}", tool.name);
            let to_three = tool.price_of(&serde_json::json!({"to": ["a", "b", "c"]}));
            let recipients = if tool.name.as_str() == "send_bulk_email" { 3 } else { 1 };
            assert_eq!(to_three, Credits::new(expected * recipients), "{}", tool.name);
        }
    }
}
