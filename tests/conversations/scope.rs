//! Which tools an agent has in a conversation, and why not the others.

use std::sync::Arc;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, IntegrationId};
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::removal::{PolicyLayer, Removal, Stage};
use ostler_domain::session::key::Entry;
use ostler_domain::tool::profile::Profile;
use ostler_domain::tool::{Integration, ToolName};
use ostler_engine::outcome::Outcome;
use ostler_runtime::explain::session_scope;
use ostler_runtime::parts::Settings;
use ostler_store::{Connection, OrgIntegration};

use crate::kit::{
    Seen, Watched, calm, calmed, catalogue_of, failing, puppet, scripted, world, world_with,
};
use crate::world::{ENZO, GIA, ORG, World, agent};

const PLAIN: &str = "default: I see.";
const BROKEN: &str = "
rules:
  - when: { user: products }
    answer:
      - { call: list_products }
      - Here you are.
  - when: { user: invent }
    answer:
      - { call: fly_to_the_moon }
      - I cannot do that.
  - when: { user: refund }
    answer:
      - { call: refund_payment, with: { order: '7' } }
      - I cannot do that either.
default: I see.
";

/// B06, B09, C06, C08: a tool that failed three times is gone from the next turn
/// of its session, is listed, and is there in another session.
#[tokio::test]
async fn b06_b09_c06_a_failed_tool_is_gone_from_its_session_only() {
    let (world, seen) =
        world_with(BROKEN, vec![failing("list_products")], Settings::default()).await;
    for n in 0..3 {
        assert!(seen_with(&world, "rosa", "hello").await.contains(&"list_products".into()), "{n}");
        world.say("rosa", "products").await;
    }
    let tools = seen_with(&world, "rosa", "hello").await;
    assert!(!tools.contains(&"list_products".to_owned()), "{tools:?}");
    let scope = world.harness("rosa").await.tool_scope;
    assert_eq!(scope.disabled_for_session, [ToolName::from_static("list_products")]);
    assert!(seen_with(&world, "otto", "hello").await.contains(&"list_products".into()));
    // The model calls it all the same: it is told that it is off, and nothing runs.
    world.say("rosa", "products").await;
    let result = crate::kit::words(&seen.last().history[seen.last().history.len() - 1]);
    let decided = world.runs("rosa").await.pop().unwrap().turns[0].decisions[0].clone();
    let decided = serde_json::to_value(decided.verdict).unwrap();
    assert!(decided.to_string().contains("deny"), "{decided}");
    assert!(!result.contains("It broke."), "{result}");
}

async fn seen_with(world: &World, who: &str, text: &str) -> Vec<String> {
    world.say(who, text).await;
    world.tools(who).await
}

/// B07, B09: a tool needs its service, and is there on the next run after that
/// was connected.
#[tokio::test]
async fn b07_b09_a_connected_service_brings_its_tools_at_once() {
    let world = world(PLAIN).await.0;
    world.change(GIA, |gia| gia.subtype = Subtype::Pm).await;
    let refunds = "refund_payment".to_owned();
    assert!(!seen_with(&world, "rosa", "hello").await.contains(&refunds));
    let payments = Integration::new("payments");
    let required = world.harness("rosa").await.tool_scope.integration_requirements;
    assert!(required.contains(&(ToolName::from_static("refund_payment"), payments.clone())));
    let id = IntegrationId::from_u128(0x1);
    let (connection, settings) = (Connection::Connected, "{}".to_owned());
    let integration = OrgIntegration { id, service: payments, connection, settings, secret: None };
    world.org().save_integration(integration).await.unwrap();
    assert!(seen_with(&world, "rosa", "hello").await.contains(&refunds));
    world.org().set_connection(id, Connection::Disconnected).await.unwrap();
    assert!(!seen_with(&world, "rosa", "hello").await.contains(&refunds));
}

/// B08, B10: the model is offered exactly what the harness says, and a call of
/// anything else is refused, counted and told to the model.
#[tokio::test]
async fn b08_b10_the_model_is_offered_what_the_harness_says_and_nothing_else_runs() {
    let ran = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = ran.clone();
    let refund = puppet("refund_payment", move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Outcome::ok("done")
    });
    let (world, seen) = world_with(BROKEN, vec![refund], Settings::default()).await;
    world.say("rosa", "hello").await;
    assert_eq!(seen.last().offered, world.tools("rosa").await);
    for (text, tool) in [("invent", "fly_to_the_moon"), ("refund", "refund_payment")] {
        assert_eq!(world.say("rosa", text).await.len(), 1, "the customer is answered");
        let run = world.runs("rosa").await.pop().unwrap();
        let decided = &run.turns[0].decisions;
        assert_eq!(decided.iter().map(|one| one.tool.as_str()).collect::<Vec<_>>(), [tool]);
        let verdict = serde_json::to_value(&decided[0].verdict).unwrap();
        assert!(verdict.to_string().contains("deny"), "{verdict}");
    }
    assert_eq!(ran.load(std::sync::atomic::Ordering::SeqCst), 0);
}

/// B11: media tools are off on SMS and there on the web chat.
#[tokio::test]
async fn b11_a_channel_restricts_tools() {
    const SMS: BindingId = BindingId::from_u128(0x5115);
    let world = world(PLAIN).await.0;
    world.bind(SMS, Channel::Sms, GIA).await;
    assert!(seen_with(&world, "rosa", "hello").await.contains(&"search_media".into()));
    world.say_in(&world.key_on(SMS, "+39055", Entry::Customer), "hello").await;
    let tools = world.tools("+39055").await;
    assert!(!tools.contains(&"search_media".into()) && tools.contains(&"list_events".into()));
}

/// B12, B20: a subtype's profile and the autonomy narrow what is offered.
#[tokio::test]
async fn b12_b20_profile_and_autonomy_narrow_the_scope() {
    let world = world(PLAIN).await.0;
    let luca = AgentId::from_u128(0x1);
    let mut pm = agent(luca, "luca", Subtype::BookingAgent);
    pm.tools.profile = Profile::default_for(&pm.subtype);
    assert_eq!(pm.tools.profile, Profile::Booking);
    assert_eq!(Profile::default_for(&Subtype::from("astronaut")), Profile::General);
    world.save_agent(pm).await;
    world.change(GIA, |gia| gia.status = ostler_domain::agent::AgentStatus::Paused).await;
    world.change(ENZO, |enzo| enzo.status = ostler_domain::agent::AgentStatus::Paused).await;
    let tools = seen_with(&world, "rosa", "hello").await;
    assert!(tools.contains(&"create_booking".into()) && !tools.contains(&"get_order".into()));
    world.change(luca, |luca| luca.autonomy = AutonomyLevel::DraftOnly).await;
    let tools = seen_with(&world, "rosa", "hello").await;
    assert_eq!(
        tools,
        [
            "escalate_to_human",
            "export_contacts",
            "get_form_responses",
            "list_events",
            "list_forms",
            "list_products",
            "query_org_data",
            "search_contacts",
            "search_knowledge",
            "tag_in_agent",
        ],
        "reading, and the ways out"
    );
}

/// B13: without team coordination nobody tags a colleague in, and only whoever
/// talks to end customers reaches a person.
#[tokio::test]
async fn b13_team_tools_need_a_team() {
    let world = world(PLAIN).await.0;
    let both = ["escalate_to_human".to_owned(), "tag_in_agent".to_owned()];
    let has = async |who: &str| {
        let tools = seen_with(&world, who, "hello").await;
        both.clone().map(|tool| tools.contains(&tool))
    };
    assert_eq!(has("a").await, [true, true]);
    world.save_settings(&OrgSettings { team: None, ..calm() }).await;
    assert_eq!(has("a").await, [true, false], "she is at layer 4");
    world.change(GIA, |gia| gia.subtype = Subtype::Pm).await;
    assert_eq!(has("a").await, [false, false]);
    world.save_settings(&calm()).await;
    assert_eq!(has("a").await, [true, true]);
}

/// B21: another model, another provider, the same tools.
#[tokio::test]
async fn b21_the_model_changes_nothing() {
    let seen = Seen::default();
    let model = |name: &str| -> Arc<dyn ostler_engine::model::Model> {
        Arc::new(Watched::new(name, scripted(PLAIN), seen.clone()))
    };
    let models = catalogue_of(vec![("scripted", model("one")), ("other/large", model("two"))]);
    let store = ostler_store::Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    let world = calmed(World::with(store, models, Settings::default())).await;
    let first = seen_with(&world, "rosa", "hello").await;
    world.change(GIA, |gia| gia.models = vec!["other/large".into()]).await;
    assert_eq!(seen_with(&world, "rosa", "hello").await, first);
    let models: Vec<String> = seen.all().into_iter().map(|asked| asked.model).collect();
    assert_eq!(models, ["one", "two"]);
    assert_eq!(seen.all()[0].offered, seen.all()[1].offered);
}

/// Z06, B01: for any tool of a live session it is said what removed it: which
/// policy layer, which rule, which value.
#[tokio::test]
async fn z06_the_scope_of_a_live_session_explains_itself() {
    let (world, seen) =
        world_with(BROKEN, vec![failing("list_products")], Settings::default()).await;
    for _ in 0..3 {
        world.say("rosa", "products").await;
    }
    let deny =
        ToolPolicy { deny: [ToolName::from_static("list_events")].into(), ..Default::default() };
    world.org().save_policy(0, deny).await.unwrap();
    let session = world.session("rosa").await.id;
    let tools = &world.worker.parts().tools;
    let explained = session_scope(&world.store, tools, ORG, session, None).await.unwrap().unwrap();
    assert_eq!(explained.agent.agent.id, GIA);
    let why = |tool: &str| {
        let removed = explained.scope.find(tool).unwrap().removed.clone();
        removed.map(|removal| (removal.stage(), removal))
    };
    assert_eq!(why("list_forms"), None);
    let denied = Removal::Denied { policy_layer: PolicyLayer::Org };
    assert_eq!(why("list_events"), Some((Stage::Org, denied)));
    let failed = why("list_products").unwrap();
    assert_eq!(failed.0, Stage::Session);
    assert!(matches!(failed.1, Removal::FailedTooOften { failures: 3, .. }), "{failed:?}");
    assert_eq!(why("refund_payment").unwrap().0, Stage::Integrations);
    assert_eq!(why("delete_contact").unwrap().0, Stage::BusinessLayer);
    // What is explained is what the next turn has.
    world.say("rosa", "hello").await;
    let active: Vec<String> = explained.scope.active().map(|tool| tool.name.to_string()).collect();
    assert_eq!(seen.last().offered, active);
    assert!(
        session_scope(&world.store, tools, ostler_domain::id::OrgId::from_u128(9), session, None)
            .await
            .is_err()
    );
}
