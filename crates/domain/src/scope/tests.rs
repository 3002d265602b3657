//! Table tests of the scope; that it only narrows is a property in `tests/`.

use std::collections::BTreeSet;

use super::policy::ToolPolicy;
use super::removal::{PolicyLayer, Removal, Stage};
use super::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use crate::agent::autonomy::AutonomyLevel;
use crate::agent::subtype::Subtype;
use crate::channel::Channel;
use crate::org::Org;
use crate::org::layer::{BusinessLayer, Standing};
use crate::session::errors::{DisabledTool, SessionTools};
use crate::testing;
use crate::time::Timestamp;
use crate::tool::catalogue::built_in;
use crate::tool::profile::Profile;
use crate::tool::{Integration, Risk, ToolGroup, ToolName, ToolRole};

/// Everything a scope depends on, as wide as it gets.
struct World {
    platform: ToolPolicy,
    org: ToolPolicy,
    agent: ToolPolicy,
    integrations: BTreeSet<Integration>,
    sub_orgs_enabled: bool,
    team_coordination: bool,
    standing: Standing,
    profile: Profile,
    autonomy: AutonomyLevel,
    session: SessionTools,
}

impl World {
    fn new(org: &Org, subtype: &str) -> Self {
        Self {
            platform: ToolPolicy::default(),
            org: ToolPolicy::default(),
            agent: ToolPolicy::default(),
            integrations: ["payments", "unsplash", "sms"].map(Integration::new).into(),
            sub_orgs_enabled: true,
            team_coordination: true,
            standing: Standing::of(org, &Subtype::from(subtype)),
            profile: Profile::Everything,
            autonomy: AutonomyLevel::Autonomous,
            session: SessionTools::new(Channel::Webchat),
        }
    }

    fn scope(&self) -> ToolScope {
        let facts = ScopeFacts {
            platform: &self.platform,
            org: OrgTools {
                policy: &self.org,
                integrations: &self.integrations,
                sub_orgs_enabled: self.sub_orgs_enabled,
                team_coordination: self.team_coordination,
            },
            agent: AgentTools {
                standing: &self.standing,
                profile: self.profile,
                policy: &self.agent,
                autonomy: self.autonomy,
            },
            session: &self.session,
        };
        resolve(built_in(), &facts)
    }

    fn active(&self) -> BTreeSet<String> {
        self.scope().active().map(|tool| tool.name.to_string()).collect()
    }

    fn removal(&self, tool: &str) -> Option<Removal> {
        self.scope().find(tool).unwrap().removed.clone()
    }
}

fn layer_1() -> World {
    World::new(&testing::platform(), "system")
}

fn layer_2() -> World {
    World::new(&testing::agency(), "pm")
}

fn layer_3() -> World {
    World::new(&testing::client(), "pm")
}

fn layer_4() -> World {
    World::new(&testing::client(), "customer_service")
}

fn names(names: &[&str]) -> BTreeSet<ToolName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn texts(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// B01, Z06: the first stage that removes a tool is the explanation, with its
/// policy layer.
#[test]
fn b01_the_first_stage_explains() {
    let mut world = layer_4();
    world.platform.deny = names(&["web_fetch", "send_email"]);
    world.org.deny = names(&["web_fetch", "get_order"]);
    world.integrations.clear();
    world.agent.deny = names(&["list_forms", "search_unsplash_images"]);
    world.session.disabled.insert(
        "list_events".parse().unwrap(),
        DisabledTool { failures: 3, since: Timestamp::from_millis(7) },
    );
    let denied = |policy_layer| Removal::Denied { policy_layer };
    let table = [
        ("web_fetch", denied(PolicyLayer::Platform), Some(PolicyLayer::Platform)),
        ("get_order", denied(PolicyLayer::Org), Some(PolicyLayer::Org)),
        (
            "search_unsplash_images",
            Removal::NotConnected { integrations: vec![Integration::new("unsplash")] },
            None,
        ),
        ("list_forms", denied(PolicyLayer::Agent), Some(PolicyLayer::Agent)),
        (
            "search_knowledge",
            Removal::NotOnLayerList { business_layer: BusinessLayer::EndCustomer },
            None,
        ),
        (
            "list_events",
            Removal::FailedTooOften { failures: 3, since: Timestamp::from_millis(7) },
            Some(PolicyLayer::Session),
        ),
    ];
    for (tool, expected, policy_layer) in table {
        let removal = world.removal(tool).unwrap();
        assert_eq!(removal, expected, "{tool}");
        assert_eq!(removal.stage().policy_layer(), policy_layer, "{tool}");
    }
    assert_eq!(world.removal("list_products"), None);
}

/// B02: a lower layer cannot grant again what a higher one removed.
#[test]
fn b02_a_lower_layer_never_re_grants() {
    let mut world = layer_2();
    world.platform.deny = names(&["send_email"]);
    world.org.allow = names(&["send_email", "get_order"]);
    world.agent.allow = names(&["send_email", "get_order"]);
    assert_eq!(world.active(), texts(&["get_order"]));
}

/// B03, B04, B05: an empty allow list allows all, a filled one only its tools,
/// and deny wins over allow, at each of the three.
#[test]
fn b03_b04_b05_allow_and_deny_lists() {
    type List = fn(&mut World) -> &mut ToolPolicy;
    let layers: [(&str, List); 3] = [
        ("B03", |world| &mut world.platform),
        ("B04", |world| &mut world.org),
        ("B05", |world| &mut world.agent),
    ];
    for (row, policy) in layers {
        let all = layer_2().active();
        assert!(all.contains("get_order") && all.contains("web_fetch"), "{row}");

        let mut world = layer_2();
        policy(&mut world).allow = names(&["get_order", "web_fetch"]);
        assert_eq!(world.active(), texts(&["get_order", "web_fetch"]), "{row} allow");

        policy(&mut world).deny = names(&["web_fetch"]);
        assert_eq!(world.active(), texts(&["get_order"]), "{row} deny wins");
    }
}

/// B05: profile and allow list intersect; `*` selects nothing away.
#[test]
fn b05_profile_and_allow_list_intersect() {
    let mut world = layer_2();
    world.profile = Profile::Booking;
    world.agent.allow = names(&["create_booking", "send_email"]);
    assert_eq!(world.active(), texts(&["create_booking"]));
    let outside = Removal::OutsideProfile { profile: Profile::Booking };
    assert_eq!(world.removal("send_email"), Some(outside));
    world.profile = Profile::Everything;
    assert_eq!(world.active(), texts(&["create_booking", "send_email"]));
}

/// B06: a tool that failed is off in this session and there in a new one.
#[test]
fn b06_a_failed_tool_is_off_for_the_session() {
    let mut world = layer_4();
    let off = DisabledTool { failures: 3, since: Timestamp::from_millis(1) };
    world.session.disabled.insert("list_events".parse().unwrap(), off);
    assert!(!world.active().contains("list_events"));
    let off: Vec<String> = world.scope().disabled_for_session().map(ToString::to_string).collect();
    assert_eq!(off, ["list_events"]);
    world.session = SessionTools::new(Channel::Webchat);
    assert!(world.active().contains("list_events"));
}

/// B07, B09: a tool that needs a service is there once the service is connected.
#[test]
fn b07_integrations_bring_their_tools() {
    let mut world = layer_4();
    world.integrations.clear();
    assert!(!world.active().contains("search_unsplash_images"));
    let scope = world.scope();
    let unsplash = Integration::new("unsplash");
    assert!(scope.integration_requirements().any(|(_, needed)| *needed == unsplash));
    world.integrations.insert(unsplash);
    assert!(world.active().contains("search_unsplash_images"));
}

/// B11: media tools are off on sms and on elsewhere.
#[test]
fn b11_channels_restrict_tools() {
    let mut world = layer_4();
    assert!(world.active().contains("search_media"));
    world.session = SessionTools::new(Channel::Sms);
    let removal = Removal::NotOnChannel { channel: Channel::Sms };
    for tool in ["search_media", "search_unsplash_images"] {
        assert_eq!(world.removal(tool), Some(removal.clone()), "{tool}");
    }
    assert!(world.active().contains("list_products"));
}

/// B13: team tools come with team coordination; layer 4 can always reach a human.
#[test]
fn b13_team_tools_need_team_coordination() {
    for mut world in [layer_1(), layer_2(), layer_3(), layer_4()] {
        let layer = world.standing.guarded_as;
        let has = |world: &World, tool| world.active().contains(tool);
        assert!(has(&world, "tag_in_agent") && has(&world, "escalate_to_human"), "{layer}");
        world.team_coordination = false;
        assert!(!has(&world, "tag_in_agent"), "{layer}");
        let human = has(&world, "escalate_to_human");
        assert_eq!(human, layer == BusinessLayer::EndCustomer, "{layer}");
    }
}

/// B14: what customer service has, wherever its org stands.
#[test]
fn b14_layer_4_has_its_short_list() {
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
        assert_eq!(layer_3().removal(tool).unwrap().stage(), Stage::BusinessLayer, "{tool}");
        assert!(layer_2().active().contains(tool), "{tool}");
    }
}

/// B16: at layer 2 the licence flag opens the agency tools.
#[test]
fn b16_agency_tools_need_the_licence() {
    let mut world = layer_2();
    assert!(world.active().contains("create_client_org"));
    world.sub_orgs_enabled = false;
    for tool in built_in().into_iter().filter(|tool| tool.group == ToolGroup::Agency) {
        assert_eq!(world.removal(tool.name.as_str()), Some(Removal::Unlicensed), "{}", tool.name);
    }
}

/// B17: layer 1 has everything but the three tools between layers.
#[test]
fn b17_layer_1_has_everything_else() {
    let mut world = layer_1();
    world.sub_orgs_enabled = false;
    let missing: BTreeSet<String> = built_in()
        .into_iter()
        .map(|tool| tool.name.to_string())
        .filter(|tool| !world.active().contains(tool))
        .collect();
    assert_eq!(
        missing,
        texts(&["escalate_to_parent", "share_insight_upward", "delegate_to_child"])
    );
}

/// B18, B20: a drafting agent keeps what reads and what controls; at layer 4
/// that is cut with the short list, and autonomy is named first.
#[test]
fn b18_b20_draft_only_keeps_reading() {
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

/// B19: which layers have which of the tools between layers.
#[test]
fn b19_tools_between_layers_belong_to_layers() {
    let table: [(&str, [bool; 4]); 3] = [
        ("escalate_to_parent", [false, true, true, true]),
        ("share_insight_upward", [false, false, true, true]),
        ("delegate_to_child", [false, true, false, false]),
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
            world.profile = Profile::Admin;
            assert!(!world.active().contains(tool), "{tool} at {}", world.standing.guarded_as);
        }
    }
}

/// C11, E08: a session near its cap keeps what reads and what controls.
#[test]
fn e08_a_session_near_its_cap_only_reads() {
    let mut world = layer_4();
    world.session.read_only = true;
    assert_eq!(world.removal("create_booking"), Some(Removal::SessionReadOnly));
    assert_eq!(world.removal("list_products"), None);
    assert_eq!(world.removal("escalate_to_human"), None);
}

/// L42, L45: the guardrail matrix removes tools and says which row did.
#[test]
fn l45_the_guardrail_matrix_removes_tools() {
    use crate::org::guardrail::Capability;
    let service = layer_4();
    let no_right =
        |capability| Removal::NoRight { business_layer: BusinessLayer::EndCustomer, capability };
    assert_eq!(service.removal("export_contacts"), Some(no_right(Capability::DataExport)));
    assert_eq!(service.removal("send_bulk_email"), Some(no_right(Capability::BulkOperations)));
    assert!(layer_3().active().contains("export_contacts"));
    assert!(layer_3().active().contains("send_bulk_email"));
}

/// A26: what a removal writes names the kind of layer, never a bare `layer`.
#[test]
fn a26_removals_name_their_kind_of_layer() {
    let json = serde_json::to_value(layer_4().scope()).unwrap();
    let removed =
        json["tools"].as_array().unwrap().iter().filter_map(|tool| tool["removed"].as_object());
    let mut seen = BTreeSet::new();
    for removal in removed {
        assert!(!removal.contains_key("layer"), "{removal:?}");
        seen.extend(removal.keys().cloned());
    }
    assert!(seen.contains("business_layer"), "{seen:?}");
}
