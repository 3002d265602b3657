//! Tool scope: every stage only removes tools, and every removal has its reason.

use std::collections::BTreeSet;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::removal::{PolicyLayer, Removal, ScopeStage};
use ostler_domain::session::errors::DisabledTool;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Integration, Risk, ToolGroup, ToolName, ToolRole, ToolSpec};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::check;
use crate::scope_inputs::{SERVICES, ScopeInputs, scope_inputs};

const STAGES: [ScopeStage; 7] = [
    ScopeStage::Platform,
    ScopeStage::Org,
    ScopeStage::Integrations,
    ScopeStage::Agent,
    ScopeStage::Autonomy,
    ScopeStage::BusinessLayer,
    ScopeStage::Session,
];

/// Returns the tools that a stage removes by itself.
fn removed_alone(inputs: &ScopeInputs, stage: ScopeStage) -> BTreeSet<ToolName> {
    let (open, w) = (inputs.unrestricted(), inputs.clone());
    let alone = match stage {
        ScopeStage::Platform => ScopeInputs { platform: w.platform, ..open },
        ScopeStage::Org => ScopeInputs {
            org: w.org,
            sub_orgs_enabled: w.sub_orgs_enabled,
            team_coordination: w.team_coordination,
            ..open
        },
        ScopeStage::Integrations => ScopeInputs { integrations: w.integrations, ..open },
        ScopeStage::Agent => ScopeInputs { agent: w.agent, profile: w.profile, ..open },
        ScopeStage::Autonomy => ScopeInputs { autonomy: w.autonomy, ..open },
        ScopeStage::BusinessLayer => open,
        ScopeStage::Session => ScopeInputs { session: w.session, ..open },
    };
    // The org's licence and the layer's rules depend on the layer. The others
    // do not, and no layer has all tools, so they are seen from each.
    let seen = match stage {
        ScopeStage::Org | ScopeStage::BusinessLayer => vec![alone],
        _ => BusinessLayer::ALL.map(|layer| alone.at(layer)).into(),
    };
    let removals = seen.iter().flat_map(ScopeInputs::removals);
    removals.filter(|(_, why)| why.stage() == stage).map(|(name, _)| name).collect()
}

/// B01, B02, B08, Z06: the active tools are those that no stage by itself removes, and a
/// removal names the first stage that does.
#[test]
fn b01_the_scope_is_the_intersection_of_its_stages() {
    check(100, &scope_inputs(), |inputs| {
        let alone = STAGES.map(|stage| (stage, removed_alone(&inputs, stage)));
        for tool in inputs.scope().tools() {
            let removers = alone.iter().filter(|(_, removed)| removed.contains(&tool.spec.name));
            let first = removers.map(|(stage, _)| *stage).next();
            let found = tool.removed.as_ref().map(Removal::stage);
            prop_assert_eq!(found, first, "{}", tool.spec.name);
        }
        Ok(())
    });
}

/// B03, B04, B05: for platform, org and agent, deny beats allow, and an empty allow list
/// allows all.
#[test]
fn b03_b04_b05_a_policy_removes_what_it_denies_or_does_not_list() {
    type Place = fn(ScopeInputs, ToolPolicy) -> ScopeInputs;
    let places: [(PolicyLayer, Place); 3] = [
        (PolicyLayer::Platform, |inputs, platform| ScopeInputs { platform, ..inputs }),
        (PolicyLayer::Org, |inputs, org| ScopeInputs { org, ..inputs }),
        (PolicyLayer::Agent, |inputs, agent| ScopeInputs { agent, ..inputs }),
    ];
    check(100, &scope_inputs(), |inputs| {
        for (policy_layer, place) in places {
            let policy = &inputs.platform;
            let removals = place(inputs.unrestricted(), policy.clone()).removals();
            for tool in &inputs.catalogue {
                let (name, removal) = (&tool.name, removals.get(&tool.name));
                let expected = if policy.deny.contains(name) {
                    Some(Removal::Denied { policy_layer })
                } else if policy.allow.is_empty() || policy.allow.contains(name) {
                    None
                } else {
                    Some(Removal::NotAllowed { policy_layer })
                };
                let by_lists = removal.filter(|removal| {
                    matches!(removal, Removal::Denied { .. } | Removal::NotAllowed { .. })
                });
                prop_assert_eq!(by_lists, expected.as_ref(), "{}", name);
            }
        }
        Ok(())
    });
}

/// B02: a tool that the platform denies or does not list stays removed whatever org and
/// agent allow.
#[test]
fn b02_no_lower_layer_restores_a_removed_tool() {
    check(200, &(scope_inputs(), any::<Index>(), any::<bool>()), |(mut inputs, index, deny)| {
        let name = index.get(&inputs.catalogue).name.clone();
        if deny {
            inputs.platform.deny.insert(name.clone());
            inputs.platform.allow.insert(name.clone());
        } else {
            inputs.platform.allow.remove(&name);
            inputs.platform.allow.insert(ToolName::from_static("another_tool"));
        }
        inputs.org = ToolPolicy { allow: [name.clone()].into(), ..ToolPolicy::default() };
        inputs.agent = inputs.org.clone();
        let scope = inputs.scope();
        let stage = scope.find(name.as_str()).and_then(|tool| Some(tool.removed.as_ref()?.stage()));
        prop_assert_eq!(stage, Some(ScopeStage::Platform));
        Ok(())
    });
}

/// One more restriction.
#[derive(Debug, Clone)]
enum Narrowing {
    Deny(PolicyLayer, Index),
    Disconnect(&'static str),
    Disable(Index),
    OffOnChannel(Index),
    TeamOff,
    LicenceOff,
    DraftOnly,
    ReadOnly,
}

fn narrowings() -> impl Strategy<Value = Narrowing> {
    let layer = select(vec![PolicyLayer::Platform, PolicyLayer::Org, PolicyLayer::Agent]);
    prop_oneof![
        3 => (layer, any::<Index>()).prop_map(|(layer, tool)| Narrowing::Deny(layer, tool)),
        2 => select(SERVICES.to_vec()).prop_map(Narrowing::Disconnect),
        2 => any::<Index>().prop_map(Narrowing::Disable),
        1 => any::<Index>().prop_map(Narrowing::OffOnChannel),
        1 => Just(Narrowing::TeamOff),
        1 => Just(Narrowing::LicenceOff),
        1 => Just(Narrowing::DraftOnly),
        1 => Just(Narrowing::ReadOnly),
    ]
}

impl Narrowing {
    fn apply(&self, inputs: &mut ScopeInputs) {
        let name = |index: &Index| index.get(&inputs.catalogue).name.clone();
        match self {
            Self::Deny(layer, tool) => {
                let name = name(tool);
                let policy = match layer {
                    PolicyLayer::Platform => &mut inputs.platform,
                    PolicyLayer::Org => &mut inputs.org,
                    PolicyLayer::Agent | PolicyLayer::Session => &mut inputs.agent,
                };
                policy.deny.insert(name);
            }
            Self::Disconnect(service) => {
                inputs.integrations.remove(&Integration::new(service));
            }
            Self::Disable(tool) => {
                let disabled = DisabledTool { failures: 3, since: Timestamp::from_millis(1) };
                inputs.session.disabled.insert(name(tool), disabled);
            }
            Self::OffOnChannel(tool) => {
                inputs.session.channel_restrictions.insert(name(tool));
            }
            Self::TeamOff => inputs.team_coordination = false,
            Self::LicenceOff => inputs.sub_orgs_enabled = false,
            Self::DraftOnly => inputs.autonomy = AutonomyLevel::DraftOnly,
            Self::ReadOnly => inputs.session.read_only = true,
        }
    }

    /// Returns whether the restriction affects a tool.
    fn touches(&self, tool: &ToolSpec, inputs: &ScopeInputs) -> bool {
        let layer = inputs.position.guardrail_layer_for(inputs.session.audience);
        match self {
            Self::Deny(_, index) | Self::OffOnChannel(index) => {
                index.get(&inputs.catalogue).name == tool.name
            }
            Self::Disable(index) => {
                // Failures do not close a control tool.
                index.get(&inputs.catalogue).name == tool.name && tool.role == ToolRole::Ordinary
            }
            Self::Disconnect(service) => tool.integrations.contains(&Integration::new(service)),
            Self::TeamOff => match tool.name.as_str() {
                "tag_in_agent" => true,
                "escalate_to_human" => layer != BusinessLayer::EndCustomer,
                _ => false,
            },
            Self::LicenceOff => tool.group == ToolGroup::Agency && layer != BusinessLayer::Platform,
            Self::DraftOnly | Self::ReadOnly => {
                tool.risk != Risk::Read && tool.role != ToolRole::Control
            }
        }
    }
}

/// B02, B06, B07, B13, B16, B20: a restriction removes exactly the tools it affects, and
/// never adds one.
#[test]
fn b02_a_restriction_removes_exactly_the_affected_tools() {
    check(300, &(scope_inputs(), narrowings()), |(inputs, narrowing)| {
        let mut narrowed = inputs.clone();
        narrowing.apply(&mut narrowed);
        let left = |tool: &&ToolSpec| !narrowing.touches(tool, &inputs);
        let expected: BTreeSet<ToolName> =
            inputs.scope().active().filter(left).map(|tool| tool.name.clone()).collect();
        prop_assert_eq!(narrowed.active(), expected);
        Ok(())
    });
}

/// B14: the documented tools of layer 4.
const LAYER_4: [&str; 14] = [
    "query_org_data",
    "search_contacts",
    "list_events",
    "list_products",
    "list_forms",
    "search_media",
    "search_unsplash_images",
    "get_form_responses",
    "create_contact",
    "create_booking",
    "escalate_to_parent",
    "share_insight_upward",
    "escalate_to_human",
    "tag_in_agent",
];

/// B14-B20, B22, L11, S02: whatever the policies say, an active tool is allowed for the layer
/// and the autonomy level, and a coordinator has no outreach tools.
#[test]
fn b14_no_policy_gives_a_layer_a_forbidden_tool() {
    use BusinessLayer::{Agency, Client, EndCustomer, Platform};
    check(300, &scope_inputs(), |inputs| {
        let audience = inputs.session.audience;
        let layer = inputs.position.guardrail_layer_for(audience);
        let service = inputs.position.guardrail_layer == EndCustomer;
        let reads_only = inputs.session.read_only || inputs.autonomy == AutonomyLevel::DraftOnly;
        for tool in inputs.scope().active() {
            let name = tool.name.as_str();
            let at_home = match name {
                "escalate_to_parent" => layer != Platform,
                "share_insight_upward" => matches!(layer, Client | EndCustomer),
                "delegate_to_child" => layer == Agency,
                "create_client_org" | "deploy_telegram_bot" => matches!(layer, Platform | Agency),
                "list_client_orgs" | "get_client_org_stats" => matches!(layer, Platform | Agency),
                _ => true,
            };
            prop_assert!(at_home, "{} at {}", name, layer);
            let own = tool.group == ToolGroup::Custom && tool.audience == Audience::Customer;
            prop_assert!(!service || own || LAYER_4.contains(&name), "{} at layer 4", name);
            prop_assert!(audience.may_use(tool.audience), "{} with a customer", name);
            prop_assert!(layer == Platform || tool.group != ToolGroup::PlatformAdmin, "{}", name);
            let harmless = tool.risk == Risk::Read || tool.role == ToolRole::Control;
            prop_assert!(harmless || !reads_only, "{}", name);
            let outside = tool.group == ToolGroup::Outreach;
            prop_assert!(!outside || inputs.position.subtype != Subtype::Coordinator, "{}", name);
        }
        Ok(())
    });
}
