//! What autonomy and the business layers leave.

use std::collections::BTreeSet;

use super::{World, layer_1, layer_2, layer_3, layer_4, names, texts};
use crate::agent::autonomy::AutonomyLevel;
use crate::org::guardrail::Capability;
use crate::org::layer::BusinessLayer;
use crate::scope::removal::{Removal, ScopeStage};
use crate::scope::resolve;
use crate::testing;
use crate::tool::catalogue::built_in;
use crate::tool::profile::ToolProfile;
use crate::tool::{Audience, Risk, ToolGroup, ToolName, ToolRole, ToolSpec};

/// B13: team tools need team coordination; layer 4 can always escalate to a human.
#[test]
fn b13_team_tools_need_team_coordination() {
    for mut world in [layer_1(), layer_2(), layer_3(), layer_4()] {
        let layer = world.position.guardrail_layer;
        let has = |world: &World, tool| world.active().contains(tool);
        assert!(has(&world, "tag_in_agent") && has(&world, "escalate_to_human"), "{layer}");
        world.team_coordination = false;
        assert!(!has(&world, "tag_in_agent"), "{layer}");
        let human = has(&world, "escalate_to_human");
        assert_eq!(human, layer == BusinessLayer::EndCustomer, "{layer}");
    }
}

/// B14: customer service has the tools of layer 4 in every org.
#[test]
fn b14_layer_4_has_only_the_allowed_tools() {
    let expected = texts(&[
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
    ]);
    for org in [testing::platform(), testing::agency(), testing::client()] {
        assert_eq!(World::new(&org, "customer_service").active(), expected, "{}", org.slug);
    }
    let mut without_team = layer_4();
    without_team.team_coordination = false;
    let mut fewer = expected;
    fewer.remove("tag_in_agent");
    assert_eq!(without_team.active(), fewer);
}

/// B15: layer 3 never has the agency tools, whatever the licence says.
#[test]
fn b15_layer_3_has_no_agency_tools() {
    let active = layer_3().active();
    let agency =
        ["create_client_org", "list_client_orgs", "get_client_org_stats", "deploy_telegram_bot"];
    for tool in agency {
        assert!(!active.contains(tool), "{tool}");
        assert_eq!(layer_3().removal(tool).unwrap().stage(), ScopeStage::BusinessLayer, "{tool}");
        assert!(layer_2().active().contains(tool), "{tool}");
    }
}

/// B16: at layer 2 the licence flag enables the agency tools.
#[test]
fn b16_agency_tools_need_the_licence() {
    let mut world = layer_2();
    assert!(world.active().contains("create_client_org"));
    world.sub_orgs_enabled = false;
    for tool in built_in().into_iter().filter(|tool| tool.group == ToolGroup::Agency) {
        assert_eq!(world.removal(tool.name.as_str()), Some(Removal::Unlicensed), "{}", tool.name);
    }
}

/// B17: layer 1 has everything but the tools of the exchange between layers.
#[test]
fn b17_layer_1_has_everything_but_cross_layer_tools() {
    let mut world = layer_1();
    world.sub_orgs_enabled = false;
    let missing: BTreeSet<String> = built_in()
        .into_iter()
        .map(|tool| tool.name.to_string())
        .filter(|tool| !world.active().contains(tool))
        .collect();
    assert_eq!(
        missing,
        texts(&[
            "escalate_to_parent",
            "share_insight_upward",
            "delegate_to_child",
            "instruct_agent",
            "decide_issue",
            "answer_delegation",
            "acknowledge_insight",
        ])
    );
}

/// B18, B20: a `draft_only` agent keeps reading and control tools, at layer 4 only those
/// allowed there; autonomy is the first reason.
#[test]
fn b18_b20_draft_only_keeps_reading_and_control_tools() {
    let mut world = layer_2();
    world.autonomy = AutonomyLevel::DraftOnly;
    for tool in layer_2().scope().active() {
        let kept = tool.risk == Risk::Read || tool.role == ToolRole::Control;
        assert_eq!(world.active().contains(tool.name.as_str()), kept, "{}", tool.name);
    }
    let mut service = layer_4();
    service.autonomy = AutonomyLevel::DraftOnly;
    let mut expected = layer_4().active();
    for gone in ["create_contact", "create_booking", "share_insight_upward"] {
        expected.remove(gone);
    }
    assert_eq!(service.active(), expected);
    assert_eq!(service.removal("refund_payment"), Some(Removal::DraftOnly));
}

/// B19: which layers have which cross-layer tools.
#[test]
fn b19_each_cross_layer_tool_belongs_to_certain_layers() {
    let table: [(&str, [bool; 4]); 7] = [
        ("escalate_to_parent", [false, true, true, true]),
        ("share_insight_upward", [false, false, true, true]),
        ("delegate_to_child", [false, true, false, false]),
        ("instruct_agent", [false, true, true, false]),
        ("decide_issue", [false, true, true, false]),
        ("answer_delegation", [false, true, true, false]),
        ("acknowledge_insight", [false, true, false, false]),
    ];
    for (tool, expected) in table {
        let got = [layer_1(), layer_2(), layer_3(), layer_4()].map(|mut world| {
            world.sub_orgs_enabled = false;
            world.active().contains(tool)
        });
        assert_eq!(got, expected, "{tool}");
    }
}

/// B22: the platform's tools stay at layer 1, even when allowed below.
#[test]
fn b22_platform_tools_stay_at_layer_1() {
    for tool in ["list_organizations", "set_org_plan", "suspend_organization"] {
        assert!(layer_1().active().contains(tool), "{tool}");
        for mut world in [layer_2(), layer_3(), layer_4()] {
            world.org.allow = names(&[tool]);
            world.agent.allow = names(&[tool]);
            world.profile = ToolProfile::Admin;
            assert!(!world.active().contains(tool), "{tool} at {}", world.position.guardrail_layer);
        }
    }
}

/// G28: an agent that was tagged in can escalate to a human like the first one.
#[test]
fn g28_every_participant_can_escalate() {
    for subtype in ["customer_service", "pm", "billing_specialist", "booking_agent"] {
        let world = World::new(&testing::client(), subtype);
        assert!(world.active().contains("escalate_to_human"), "{subtype}");
    }
}

/// L42, L45: the guardrail matrix removes tools and the removal has the capability.
#[test]
fn l45_the_guardrail_matrix_removes_tools() {
    let service = layer_4();
    let no_right =
        |capability| Removal::NoRight { business_layer: BusinessLayer::EndCustomer, capability };
    assert_eq!(service.removal("export_contacts"), Some(no_right(Capability::DataExport)));
    assert_eq!(service.removal("send_bulk_email"), Some(no_right(Capability::BulkOperations)));
    assert!(layer_3().active().contains("export_contacts"));
    assert!(layer_3().active().contains("send_bulk_email"));
}

/// L11: a coordinator has no tool that messages contacts.
#[test]
fn l11_a_coordinator_has_no_outreach_tools() {
    for org in [testing::agency(), testing::client()] {
        let world = World::new(&org, "coordinator");
        for tool in ["send_email", "send_sms", "send_bulk_email"] {
            assert_eq!(world.removal(tool), Some(Removal::RoutesOnly), "{tool} in {}", org.slug);
        }
    }
    assert!(layer_3().active().contains("send_email"));
}

/// S02: an agent that answers a customer has the rights of layer 4 and tools for customers only.
/// A specialist keeps looking up and refunding orders; customer service has its list of names
/// besides. The org's own people lose nothing.
#[test]
fn s02_every_agent_that_answers_a_customer_has_tools_for_customers_only() {
    let service = layer_4().active();
    for (org, subtype) in [
        (testing::platform(), "system"),
        (testing::agency(), "pm"),
        (testing::client(), "pm"),
        (testing::client(), "billing_specialist"),
        (testing::client(), "coordinator"),
        (testing::client(), "customer_service"),
    ] {
        let staff = World::new(&org, subtype);
        let mut customer = World::new(&org, subtype);
        customer.session.audience = Audience::Customer;
        customer.team_coordination = false;
        let mut expected = service.clone();
        expected.remove("tag_in_agent");
        if subtype != "customer_service" {
            let more = ["get_order", "refund_payment", "cancel_booking", "update_contact"];
            expected.extend(texts(&more));
            expected.insert("search_knowledge".into());
            assert!(staff.active().contains("delete_contact"), "{subtype}");
        }
        assert_eq!(customer.active(), expected, "{subtype} of {}", org.slug);
        assert!(customer.scope().active().all(|tool| tool.audience == Audience::Customer));
    }
}

/// S02: the reason names the stage that took a tool of a PM away in a customer's chat.
#[test]
fn s02_the_stage_that_guards_the_entry_is_named() {
    let mut world = layer_3();
    world.session.audience = Audience::Customer;
    assert_eq!(world.removal("delete_contact"), Some(Removal::StaffOnly));
    assert_eq!(world.removal("delete_contact").unwrap().stage(), ScopeStage::Session);
    let business_layer = BusinessLayer::EndCustomer;
    let capability = Capability::DataExport;
    let no_right = Removal::NoRight { business_layer, capability };
    assert_eq!(world.removal("export_contacts"), Some(no_right.clone()));
    assert_eq!(no_right.stage(), ScopeStage::BusinessLayer);
}

/// O18: a tool that an org has made for customers joins the short list of layer 4; one that
/// is made for staff is removed where a customer is in the session.
#[test]
fn o18_the_audience_of_an_orgs_tool_decides_who_has_it() {
    let tool = |audience| {
        let name = ToolName::from_static("shop_order");
        ToolSpec::read(name, ToolGroup::Custom).external().for_audience(audience)
    };
    let removal = |mut world: World, session, audience| {
        world.session.audience = session;
        resolve([tool(audience)], &world.facts()).tools()[0].removed.clone()
    };
    let business_layer = BusinessLayer::EndCustomer;
    use Audience::{Customer, Staff};
    assert_eq!(removal(layer_4(), Customer, Customer), None);
    assert_eq!(removal(layer_4(), Staff, Staff), Some(Removal::NotOnLayerList { business_layer }));
    assert_eq!(removal(layer_3(), Customer, Customer), None);
    assert_eq!(removal(layer_3(), Customer, Staff), Some(Removal::StaffOnly));
    assert_eq!(removal(layer_3(), Staff, Staff), None);
    for profile in [ToolProfile::Support, ToolProfile::Sales, ToolProfile::Booking] {
        assert!(profile.includes(&tool(Staff)), "{profile}");
    }
}
