//! Which tools an agent has in a conversation, and why others are removed.

use std::sync::Arc;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, IntegrationId};
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::removal::{PolicyLayer, Removal, ScopeStage};
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::tool::profile::ToolProfile;
use ostler_domain::tool::{Integration, ToolName};
use ostler_engine::outcome::ToolOutcome;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::explain::session_scope;
use ostler_store::{IntegrationConnection, OrgIntegration};

use crate::support::{
    ENZO, GIA, ModelCalls, ORG, RecordingModel, Scenario, agent, catalogue_of, failing_tool,
    lenient_settings, scenario, scenario_with, scripted, stub_tool,
};

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

/// B06, B09, C06, C08: a tool that failed three times is disabled from the next turn of
/// its session on and listed as such; other sessions have it.
#[tokio::test]
async fn b06_b09_c06_a_tool_that_failed_three_times_is_disabled_in_its_session_only() {
    let (scenario, seen) =
        scenario_with(BROKEN, vec![failing_tool("list_products")], Settings::default()).await;
    for n in 0..3 {
        assert!(
            tools_offered_for(&scenario, "rosa", "hello").await.contains(&"list_products".into()),
            "{n}"
        );
        scenario.say("rosa", "products").await;
    }
    let tools = tools_offered_for(&scenario, "rosa", "hello").await;
    assert!(!tools.contains(&"list_products".to_owned()), "{tools:?}");
    let scope = scenario.harness("rosa").await.tool_scope;
    assert_eq!(scope.disabled_for_session, [ToolName::from_static("list_products")]);
    assert!(tools_offered_for(&scenario, "otto", "hello").await.contains(&"list_products".into()));
    // A call of the disabled tool is refused with that reason.
    scenario.say("rosa", "products").await;
    let result = crate::support::item_text(&seen.last().history[seen.last().history.len() - 1]);
    let decided = scenario.runs("rosa").await.pop().unwrap().turns[0].decisions[0].clone();
    let decided = serde_json::to_value(decided.verdict).unwrap();
    assert!(decided.to_string().contains("deny"), "{decided}");
    assert!(!result.contains("It broke."), "{result}");
}

async fn tools_offered_for(scenario: &Scenario, who: &str, text: &str) -> Vec<String> {
    scenario.say(who, text).await;
    scenario.tools(who).await
}

/// B07, B09: a tool needs its integration, and is there from the next run after it was
/// connected.
#[tokio::test]
async fn b07_b09_a_connected_integration_adds_its_tools_to_the_next_run() {
    let scenario = scenario(PLAIN).await.0;
    scenario.change_agent(GIA, |gia| gia.subtype = Subtype::Pm).await;
    let refunds = "refund_payment".to_owned();
    assert!(!tools_offered_for(&scenario, "rosa", "hello").await.contains(&refunds));
    let payments = Integration::new("payments");
    let required = scenario.harness("rosa").await.tool_scope.integration_requirements;
    assert!(required.contains(&(ToolName::from_static("refund_payment"), payments.clone())));
    let id = IntegrationId::from_u128(0x1);
    let (connection, settings) = (IntegrationConnection::Connected, "{}".to_owned());
    let integration = OrgIntegration { id, service: payments, connection, settings, secret: None };
    scenario.org().save_integration(integration).await.unwrap();
    assert!(tools_offered_for(&scenario, "rosa", "hello").await.contains(&refunds));
    scenario.org().set_connection(id, IntegrationConnection::Disconnected).await.unwrap();
    assert!(!tools_offered_for(&scenario, "rosa", "hello").await.contains(&refunds));
}

/// B08, B10: the model is offered exactly the active tools of the harness; a call of
/// another tool is refused, counted and reported to the model.
#[tokio::test]
async fn b08_b10_the_model_is_offered_the_active_tools_and_other_calls_are_refused() {
    let ran = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = ran.clone();
    let refund = stub_tool("refund_payment", move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        ToolOutcome::ok("done")
    });
    let (scenario, seen) = scenario_with(BROKEN, vec![refund], Settings::default()).await;
    scenario.say("rosa", "hello").await;
    assert_eq!(seen.last().offered, scenario.tools("rosa").await);
    for (text, tool) in [("invent", "fly_to_the_moon"), ("refund", "refund_payment")] {
        assert_eq!(scenario.say("rosa", text).await.len(), 1, "the customer is answered");
        let run = scenario.runs("rosa").await.pop().unwrap();
        let decided = &run.turns[0].decisions;
        assert_eq!(decided.iter().map(|one| one.tool.as_str()).collect::<Vec<_>>(), [tool]);
        let verdict = serde_json::to_value(&decided[0].verdict).unwrap();
        assert!(verdict.to_string().contains("deny"), "{verdict}");
    }
    assert_eq!(ran.load(std::sync::atomic::Ordering::SeqCst), 0);
}

/// B11: media tools are disabled on SMS and enabled on the web chat.
#[tokio::test]
async fn b11_a_channel_restricts_tools() {
    const SMS: BindingId = BindingId::from_u128(0x5115);
    let scenario = scenario(PLAIN).await.0;
    scenario.bind(SMS, Channel::Sms, GIA).await;
    assert!(tools_offered_for(&scenario, "rosa", "hello").await.contains(&"search_media".into()));
    scenario.say_in(&scenario.key_on(SMS, "+39055", ConversationEntry::Customer), "hello").await;
    let tools = scenario.tools("+39055").await;
    assert!(!tools.contains(&"search_media".into()) && tools.contains(&"list_events".into()));
}

/// B12, B20: the profile of a subtype and the autonomy level narrow the scope.
#[tokio::test]
async fn b12_b20_profile_and_autonomy_narrow_the_scope() {
    let scenario = scenario(PLAIN).await.0;
    let luca = AgentId::from_u128(0x1);
    let mut pm = agent(luca, "luca", Subtype::BookingAgent);
    pm.tools.profile = ToolProfile::default_for(&pm.subtype);
    assert_eq!(pm.tools.profile, ToolProfile::Booking);
    assert_eq!(ToolProfile::default_for(&Subtype::from("astronaut")), ToolProfile::General);
    scenario.save_agent(pm).await;
    scenario.change_agent(GIA, |gia| gia.status = ostler_domain::agent::AgentStatus::Paused).await;
    scenario
        .change_agent(ENZO, |enzo| enzo.status = ostler_domain::agent::AgentStatus::Paused)
        .await;
    let tools = tools_offered_for(&scenario, "rosa", "hello").await;
    assert!(tools.contains(&"create_booking".into()) && !tools.contains(&"get_order".into()));
    scenario.change_agent(luca, |luca| luca.autonomy = AutonomyLevel::DraftOnly).await;
    let tools = tools_offered_for(&scenario, "rosa", "hello").await;
    assert_eq!(
        tools,
        [
            "escalate_to_human",
            "escalate_to_parent",
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

/// B13, S02: without team coordination no agent can tag another in; every agent that answers a
/// customer can escalate.
#[tokio::test]
async fn b13_team_tools_need_team_coordination() {
    let scenario = scenario(PLAIN).await.0;
    let both = ["escalate_to_human".to_owned(), "tag_in_agent".to_owned()];
    let has = async |who: &str| {
        let tools = tools_offered_for(&scenario, who, "hello").await;
        both.clone().map(|tool| tools.contains(&tool))
    };
    assert_eq!(has("a").await, [true, true]);
    scenario.save_settings(&OrgSettings { team: None, ..lenient_settings() }).await;
    assert_eq!(has("a").await, [true, false], "she is at layer 4");
    scenario.change_agent(GIA, |gia| gia.subtype = Subtype::Pm).await;
    assert_eq!(has("a").await, [true, false], "an agent that answers a customer can escalate");
    scenario.save_settings(&lenient_settings()).await;
    assert_eq!(has("a").await, [true, true]);
}

/// B21: another model of another provider has the same tools.
#[tokio::test]
async fn b21_the_scope_does_not_depend_on_the_model() {
    let seen = ModelCalls::default();
    let model = |name: &str| -> Arc<dyn ostler_engine::model::Model> {
        Arc::new(RecordingModel::new(name, scripted(PLAIN), seen.clone()))
    };
    let models = catalogue_of(vec![("scripted", model("one")), ("other/large", model("two"))]);
    let store = ostler_store::Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    let scenario = Scenario::with_models(store, models, Settings::default()).seed_lenient().await;
    let first = tools_offered_for(&scenario, "rosa", "hello").await;
    scenario.change_agent(GIA, |gia| gia.models = vec!["other/large".into()]).await;
    assert_eq!(tools_offered_for(&scenario, "rosa", "hello").await, first);
    let models: Vec<String> = seen.all().into_iter().map(|asked| asked.model).collect();
    assert_eq!(models, ["one", "two"]);
    assert_eq!(seen.all()[0].offered, seen.all()[1].offered);
}

/// Z06, B01: for each tool of a session the scope explains what removed it: the policy
/// layer, the rule and the value.
#[tokio::test]
async fn z06_the_scope_of_a_session_explains_each_removal() {
    let (scenario, seen) =
        scenario_with(BROKEN, vec![failing_tool("list_products")], Settings::default()).await;
    for _ in 0..3 {
        scenario.say("rosa", "products").await;
    }
    let deny =
        ToolPolicy { deny: [ToolName::from_static("list_events")].into(), ..Default::default() };
    scenario.org().save_policy(0, deny).await.unwrap();
    let session = scenario.session("rosa").await.id;
    let tools = &scenario.worker.deps().tools;
    let explained =
        session_scope(&scenario.store, tools, ORG, session, None).await.unwrap().unwrap();
    assert_eq!(explained.agent.agent.id, GIA);
    let why = |tool: &str| {
        let removed = explained.scope.find(tool).unwrap().removed.clone();
        removed.map(|removal| (removal.stage(), removal))
    };
    assert_eq!(why("list_forms"), None);
    let denied = Removal::Denied { policy_layer: PolicyLayer::Org };
    assert_eq!(why("list_events"), Some((ScopeStage::Org, denied)));
    let failed = why("list_products").unwrap();
    assert_eq!(failed.0, ScopeStage::Session);
    assert!(matches!(failed.1, Removal::FailedTooOften { failures: 3, .. }), "{failed:?}");
    assert_eq!(why("refund_payment").unwrap().0, ScopeStage::Integrations);
    assert_eq!(why("delete_contact").unwrap().0, ScopeStage::BusinessLayer);
    // The next turn has the explained scope.
    scenario.say("rosa", "hello").await;
    let active: Vec<String> = explained.scope.active().map(|tool| tool.name.to_string()).collect();
    assert_eq!(seen.last().offered, active);
    assert!(
        session_scope(
            &scenario.store,
            tools,
            ostler_domain::id::OrgId::from_u128(9),
            session,
            None
        )
        .await
        .is_err()
    );
}
