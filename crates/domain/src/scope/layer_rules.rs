//! Which tools each business layer may have.

use super::removal::Removal;
use crate::agent::subtype::Subtype;
use crate::org::guardrail::{Right, right};
use crate::org::layer::{BusinessLayer, BusinessPosition};
use crate::tool::catalogue::{
    ACKNOWLEDGE_INSIGHT, ANSWER_DELEGATION, DECIDE_ISSUE, DELEGATE_TO_CHILD, ESCALATE_TO_HUMAN,
    ESCALATE_TO_PARENT, INSTRUCT_AGENT, SHARE_INSIGHT_UPWARD, TAG_IN_AGENT,
};
use crate::tool::{Audience, ToolGroup, ToolName, ToolSpec};

/// The allow list of customer service: its only built-in tools, wherever it works. Besides them it has what
/// its org has made for customers.
pub const LAYER_4_ALLOWED: [ToolName; 14] = [
    ToolName::from_static("query_org_data"),
    ToolName::from_static("search_contacts"),
    ToolName::from_static("list_events"),
    ToolName::from_static("list_products"),
    ToolName::from_static("list_forms"),
    ToolName::from_static("search_media"),
    ToolName::from_static("search_unsplash_images"),
    ToolName::from_static("get_form_responses"),
    ToolName::from_static("create_contact"),
    ToolName::from_static("create_booking"),
    ESCALATE_TO_PARENT,
    SHARE_INSIGHT_UPWARD,
    ESCALATE_TO_HUMAN,
    TAG_IN_AGENT,
];

/// The tools that layer 3 never has, whatever the licence says.
pub const LAYER_3_BLOCKED: [ToolName; 4] = [
    ToolName::from_static("create_client_org"),
    ToolName::from_static("list_client_orgs"),
    ToolName::from_static("get_client_org_stats"),
    ToolName::from_static("deploy_telegram_bot"),
];

use BusinessLayer::{Agency, Client, EndCustomer, Platform};

/// The layers that have each cross-layer tool.
const CROSS_LAYER: [(ToolName, &[BusinessLayer]); 7] = [
    (ESCALATE_TO_PARENT, &[Agency, Client, EndCustomer]),
    (SHARE_INSIGHT_UPWARD, &[Client, EndCustomer]),
    (DELEGATE_TO_CHILD, &[Agency]),
    (INSTRUCT_AGENT, &[Agency, Client]),
    (DECIDE_ISSUE, &[Agency, Client]),
    (ANSWER_DELEGATION, &[Agency, Client]),
    (ACKNOWLEDGE_INSIGHT, &[Agency]),
];

/// The tools with which a PM decides; no other agent has them.
const DECISIONS: [ToolName; 5] =
    [DELEGATE_TO_CHILD, INSTRUCT_AGENT, DECIDE_ISSUE, ANSWER_DELEGATION, ACKNOWLEDGE_INSIGHT];

/// Returns why an agent with this position does not have a tool while it answers `audience`,
/// if so. To a customer every agent answers with the rights of layer 4; the allow list is for
/// customer service itself, because a specialist needs its own tools.
pub fn removal(
    tool: &ToolSpec,
    position: &BusinessPosition,
    audience: Audience,
) -> Option<Removal> {
    let business_layer = position.guardrail_layer_for(audience);
    // A coordinator routes between layers and never messages contacts.
    if tool.group == ToolGroup::Outreach && position.subtype == Subtype::Coordinator {
        return Some(Removal::RoutesOnly);
    }
    let elsewhere = CROSS_LAYER
        .iter()
        .any(|(name, layers)| *name == tool.name && !layers.contains(&business_layer));
    if elsewhere || (tool.group == ToolGroup::PlatformAdmin && business_layer != Platform) {
        return Some(Removal::OtherLayersTool { business_layer });
    }
    if DECISIONS.contains(&tool.name) && position.subtype != Subtype::Pm {
        return Some(Removal::PmDecides);
    }
    if let Some(capability) = tool.capability
        && matches!(right(business_layer, capability), Right::No | Right::NotApplicable)
    {
        return Some(Removal::NoRight { business_layer, capability });
    }
    match position.guardrail_layer {
        EndCustomer if !is_on_layer_4_list(tool) => {
            Some(Removal::NotOnLayerList { business_layer })
        }
        Client if LAYER_3_BLOCKED.contains(&tool.name) => {
            Some(Removal::BlockedAtLayer { business_layer })
        }
        _ => None,
    }
}

fn is_on_layer_4_list(tool: &ToolSpec) -> bool {
    match tool.group {
        ToolGroup::Custom => tool.audience == Audience::Customer,
        _ => LAYER_4_ALLOWED.contains(&tool.name),
    }
}
