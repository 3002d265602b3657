//! The policy layers, and how the scope explains itself.

use super::{World, layer_2, layer_4, names, texts};
use crate::agent::Agent;
use crate::agent::subtype::Subtype;
use crate::channel::Channel;
use crate::org::layer::BusinessLayer;
use crate::scope::policy::ToolPolicy;
use crate::scope::removal::{PolicyLayer, Removal};
use crate::scope::session::SessionTools;
use crate::scope::{AgentTools, ScopeFacts, resolve};
use crate::session::errors::DisabledTool;
use crate::testing;
use crate::time::Timestamp;
use crate::tool::catalogue::built_in;
use crate::tool::profile::ToolProfile;
use crate::tool::{Audience, Integration, ToolName};

/// B01, Z06: the first stage that removes a tool is the explanation, with its
/// policy layer.
#[test]
fn b01_the_first_removing_stage_is_the_explanation() {
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

/// B05: profile and allow list intersect; `*` removes nothing.
#[test]
fn b05_profile_and_allow_list_intersect() {
    let mut world = layer_2();
    world.profile = ToolProfile::Booking;
    world.agent.allow = names(&["create_booking", "send_email"]);
    assert_eq!(world.active(), texts(&["create_booking"]));
    let outside = Removal::OutsideProfile { profile: ToolProfile::Booking };
    assert_eq!(world.removal("send_email"), Some(outside));
    world.profile = ToolProfile::Everything;
    assert_eq!(world.active(), texts(&["create_booking", "send_email"]));
}

/// B06: a tool that failed too often is disabled in this session and available in a new
/// one.
#[test]
fn b06_a_failed_tool_is_disabled_for_the_session() {
    let mut world = layer_4();
    let disabled = DisabledTool { failures: 3, since: Timestamp::from_millis(1) };
    world.session.disabled.insert("list_events".parse().unwrap(), disabled);
    assert!(!world.active().contains("list_events"));
    let disabled: Vec<String> =
        world.scope().disabled_for_session().map(ToString::to_string).collect();
    assert_eq!(disabled, ["list_events"]);
    world.session = SessionTools::new(Channel::Webchat, Audience::Staff);
    assert!(world.active().contains("list_events"));
}

/// B07, B09: a tool that needs an integration is available once that is connected.
#[test]
fn b07_a_connected_integration_enables_its_tools() {
    let mut world = layer_4();
    world.integrations.clear();
    assert!(!world.active().contains("search_unsplash_images"));
    let scope = world.scope();
    let unsplash = Integration::new("unsplash");
    assert!(scope.integration_requirements().any(|(_, needed)| *needed == unsplash));
    world.integrations.insert(unsplash);
    assert!(world.active().contains("search_unsplash_images"));
}

/// B11: media tools are unavailable on SMS only.
#[test]
fn b11_channels_restrict_tools() {
    let mut world = layer_4();
    assert!(world.active().contains("search_media"));
    world.session = SessionTools::new(Channel::Sms, Audience::Staff);
    let removal = Removal::NotOnChannel { channel: Channel::Sms };
    for tool in ["search_media", "search_unsplash_images"] {
        assert_eq!(world.removal(tool), Some(removal.clone()), "{tool}");
    }
    assert!(world.active().contains("list_products"));
}

/// C11, E08: a session near its cap keeps reading and control tools.
#[test]
fn e08_a_session_near_its_cap_is_read_only() {
    let mut world = layer_4();
    world.session.read_only = true;
    assert_eq!(world.removal("create_booking"), Some(Removal::SessionReadOnly));
    assert_eq!(world.removal("list_products"), None);
    assert_eq!(world.removal("escalate_to_human"), None);
}

/// B08, B21: exactly the active tools are offered, whatever the model.
#[test]
fn b21_the_model_does_not_change_the_scope() {
    let mut gia = testing::agent("gia", Subtype::CustomerService);
    gia.tools.profile = ToolProfile::Support;
    let world = layer_4();
    let scope_of = |agent: &Agent| {
        let tools = AgentTools::of(agent, &world.position);
        resolve(built_in(), &ScopeFacts { agent: tools, ..world.facts() })
    };
    let scope = scope_of(&gia);
    gia.models = vec!["other/model".into()];
    assert_eq!(scope_of(&gia), scope);
    let offered: Vec<&ToolName> = scope.active().map(|tool| &tool.name).collect();
    let removed = scope.tools().iter().filter(|tool| tool.removed.is_some()).count();
    assert_eq!(offered.len() + removed, built_in().len());
    assert!(!offered.is_empty());
}

/// A26: serialized scopes name the kind of layer, never a bare `layer`.
#[test]
fn a26_scopes_name_their_kind_of_layer() {
    let json = serde_json::to_string(&layer_4().scope()).unwrap();
    assert!(!json.contains("\"layer\""), "{json}");
    assert!(json.contains("\"business_layer\":4"), "{json}");
    let mut denied = layer_4();
    denied.org.deny = names(&["get_order"]);
    let json = serde_json::to_string(&denied.scope()).unwrap();
    assert!(json.contains("\"policy_layer\":\"org\""), "{json}");
}

/// S03: a host is on the org's list only if the URL names exactly it, over TLS.
#[test]
fn s03_the_host_of_a_url_is_compared_as_text() {
    let listed = |hosts: &[&str], url: &str| {
        let scope = World::new(&crate::testing::agency(), "pm").scope();
        scope.with_hosts(&texts(hosts)).allows_host_of(url)
    };
    for (url, allowed) in [
        ("https://docs.example", true),
        ("https://docs.example/a?b", true),
        ("https://DOCS.example?b", true),
        ("https://docs.example#x", true),
        ("http://docs.example/", false),
        ("https://docs.example:444/", false),
        ("https://a.docs.example/", false),
        ("https://docs.example.evil.example/", false),
        ("https://docs.example@evil.example/", false),
        ("https://docs.example\\@evil.example/", false),
        (" https://docs.example/", false),
        ("", false),
    ] {
        assert_eq!(listed(&["docs.example"], url), allowed, "{url}");
        assert!(listed(&["*"], url) && !listed(&[], url), "{url}");
    }
    let unrestricted = crate::scope::ToolScope::unrestricted([]);
    assert!(unrestricted.allows_host_of("http://anything.example"));
}
