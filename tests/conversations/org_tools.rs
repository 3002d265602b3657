//! Tools that an org has defined: HTTP tools and MCP servers.

use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, KeyId, OrgId, RecordId};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_domain::tool::{Reach, ToolName};
use ostler_engine::outcome::OutcomeStatus;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::{Actor, OperationError, ToolChange};
use ostler_store::DecisionState;
use ostler_testkit::{OrderSystem, TestDatabase};
use serde_json::json;

use crate::support::{
    GIA, ORG, Scenario, agent, lenient_settings, org, retry_at_once, scenario, scenario_in,
    scenario_with, secrets_folder, text_of,
};

const OTHER: OrgId = OrgId::from_u128(0x0c);

const SCRIPT: &str = "
rules:
  - when: { user: { regex: 'where is (?<order>\\w+)' } }
    answer: [{ call: shop_order, with: { order: '{{ order }}' } }, 'It is {{ result }}']
  - when: { user: cancel }
    answer: { call: shop_cancel, with: { order: '1001' } }
  - when: { result: { tool: shop_cancel, status: pending_approval } }
    answer: I ask my team.
  - when: { result: { tool: shop_cancel, status: ok } }
    answer: 'Cancelled: {{ result }}'
  - when: { result: shop_cancel }
    answer: 'Not cancelled: {{ result }}'
default: 'Yes.'
";

/// Defines a tool that reads an order.
fn order_tool(url: &str) -> String {
    format!(
        r#"
name = "shop_order"
description = "Looks up an order."
risk = "read"
audience = "customer"
url = "{url}/orders/{{order}}"
headers = {{ Authorization = "Bearer file:shop_token" }}
response = {{ result = ["/order/status"] }}
input = {{ required = ["order"], properties = {{ order = {{ type = "string" }} }} }}
"#
    )
}

/// Defines a tool that cancels an order at a path of the system.
fn cancel_tool(url: &str, more: &str) -> String {
    format!(
        r#"
name = "shop_cancel"
description = "Cancels an order."
risk = "destructive"
audience = "customer"
method = "POST"
url = "{url}"
timeout_secs = 1
{more}
[input]
required = ["order"]
properties.order = {{ type = "string" }}
"#
    )
}

/// Writes a secret of an org.
fn put_secret(org: OrgId, name: &str, text: &str) {
    let folder = secrets_folder().join(org.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

async fn make_autonomous(scenario: &Scenario) {
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
}

/// O18: an agent of customers looks an order up in the shop's own system. The secret reaches
/// the system and nothing that is stored; another org has no such tool.
#[tokio::test(flavor = "multi_thread")]
async fn o18_an_agent_reads_an_order_of_the_shops_own_system() {
    let shop = OrderSystem::start();
    let database = TestDatabase::sqlite_file();
    let store = database.migrated().await;
    let (scenario, seen) = scenario_in(store, SCRIPT, Vec::new(), Settings::default()).await;
    put_secret(ORG, "shop_token", "hunter2-secret");
    scenario.define_tool(ORG, &order_tool(&shop.url)).await;
    assert_eq!(scenario.say("rosa", "where is 1001").await, ["It is on its way"]);
    assert!(scenario.tools("rosa").await.contains(&"shop_order".into()));
    let request = shop.requests().pop().unwrap();
    assert!(request.line.starts_with("GET /orders/1001 "), "{request:?}");
    assert_eq!(request.headers["authorization"], "Bearer hunter2-secret");
    assert_eq!(request.key(), None, "a read needs no key");
    let missing = scenario.say("rosa", "where is 7").await;
    assert!(missing[0].contains("knows nothing by that name (status 404)"), "{missing:?}");
    let results = scenario.thread("rosa").await;
    assert!(format!("{results:?}").contains("NotFound"), "{results:?}");

    // A system that echoes the secret does not get it into the records.
    let echo = order_tool(&shop.url).replace("/orders/{order}", "/echo?{order}");
    let echo = echo.replace("response = { result = [\"/order/status\"] }", "");
    scenario.define_tool(ORG, &echo).await;
    let echoed = scenario.say("rosa", "where is 1001").await;
    assert!(echoed[0].contains("Bearer [hidden]"), "{echoed:?}");
    for table in database.texts("SELECT name FROM sqlite_master WHERE type = 'table'").await {
        let columns =
            database.texts(&format!("SELECT name FROM pragma_table_info('{table}')")).await;
        for column in columns {
            let leaked = format!("{table} WHERE CAST({column} AS TEXT) LIKE '%hunter2%'");
            assert_eq!(database.count(&leaked).await, 0, "{leaked}");
        }
    }

    // The other org neither sees nor calls it.
    scenario
        .store
        .create_org(org(OTHER, "other", OrgPlace::TopLevel, LicencePlan::Pro))
        .await
        .unwrap();
    let operations = scenario.operations();
    let stranger = operations.as_actor(Actor::Terminal, OTHER);
    assert!(stranger.own_tools().await.unwrap().is_empty());
    assert!(stranger.tool_set().await.unwrap().tools.get("shop_order").is_none());
    let called = stranger.test_tool("shop_order", &json!({"order": "1001"})).await;
    assert!(matches!(called, Err(OperationError::NotOwnTool(_))), "{called:?}");
    let removed = stranger.remove_tool(OrgToolKind::Http, "shop_order").await;
    assert!(matches!(removed, Err(OperationError::NoOwnTool { .. })), "{removed:?}");
    drop(seen);
}

/// O18: an org cannot name the secret of another one.
#[tokio::test(flavor = "multi_thread")]
async fn o18_a_tool_reads_secrets_of_its_own_org_only() {
    let shop = OrderSystem::start();
    let (scenario, _) = scenario(SCRIPT).await;
    put_secret(OTHER, "shop_token", "theirs");
    for place in [format!("file:../{OTHER}/shop_token"), "env:PATH".to_owned()] {
        scenario.define_tool(ORG, &order_tool(&shop.url).replace("file:shop_token", &place)).await;
        let said = scenario.say("rosa", "where is 1001").await;
        assert_eq!(said, ["It is This tool does not work at the moment."]);
        let operations = scenario.operations();
        let tested = operations
            .as_actor(Actor::Terminal, ORG)
            .test_tool("shop_order", &json!({"order": "1001"}))
            .await
            .unwrap();
        assert!(tested.content.contains("does not belong to this organization"), "{tested:?}");
    }
    assert!(shop.requests().is_empty());
}

/// O18: a destructive tool of an org waits for approval like every other; the approved call
/// is made once, with the key of its intent.
#[tokio::test(flavor = "multi_thread")]
async fn o18_a_destructive_tool_of_an_org_asks_for_approval() {
    let shop = OrderSystem::start();
    let (scenario, _) = scenario(SCRIPT).await;
    scenario.define_tool(ORG, &cancel_tool(&format!("{}/cancel", shop.url), "")).await;
    let before = scenario.spent(ORG).await;
    assert_eq!(scenario.say("rosa", "cancel it").await, ["I ask my team."]);
    assert!(shop.requests().is_empty());
    let pending = scenario.org().approvals(DecisionState::Pending, None, 10).await.unwrap();
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.approve(pending[0].approval.id).await.unwrap();
    scenario.work().await;
    let [request] = shop.requests().try_into().unwrap();
    assert!(request.key().is_some_and(|key| key.contains("run_")), "{request:?}");
    assert_eq!(request.body, json!({"order": "1001"}));
    assert!(scenario.spent(ORG).await > before, "the call has its price");
    // The org's policy removes it like any other tool.
    let deny =
        ToolPolicy { deny: [ToolName::from_static("shop_cancel")].into(), ..ToolPolicy::default() };
    scenario.org().save_policy(0, deny).await.unwrap();
    scenario.say("rosa", "hello").await;
    assert!(!scenario.tools("rosa").await.contains(&"shop_cancel".into()));
}

/// O18: what the system answers decides what the model, the session and people are told.
#[tokio::test(flavor = "multi_thread")]
async fn o18_faults_of_the_system_are_told_as_what_they_are() {
    let shop = OrderSystem::start();
    let (scenario, _) = scenario(SCRIPT).await;
    make_autonomous(&scenario).await;
    let check = async |path: &str, more: &str, expected: &str| {
        scenario.define_tool(ORG, &cancel_tool(&format!("{}{path}", shop.url), more)).await;
        let person = format!("rosa{}", scenario.next_number());
        let said = scenario.say(&person, "cancel it").await;
        assert!(said.concat().contains(expected), "{path}: {said:?}");
        // The answer came from outside, so the next destructive call needs a person.
        if said.concat().starts_with("Cancelled") {
            assert_eq!(scenario.say(&person, "cancel it").await, ["I ask my team."]);
        }
        scenario.session(&person).await.unknown_outcomes
    };
    let idempotent = "idempotent = true";
    assert_eq!(check("/ok", "", r#"Cancelled: {"refund":"re_1"}"#).await, 0);
    assert_eq!(check("/twice", "", r#"Cancelled: {"refund":"re_1"}"#).await, 0);
    assert_eq!(check("/ok", "", r#"Cancelled: {"refund":"re_1"}"#).await, 0);
    assert_eq!(check("/locked", "", "Not cancelled: The system refused").await, 0);
    assert_eq!(check("/away", "", "did not do it (status 307)").await, 0);
    assert_eq!(
        check("/fail", idempotent, "Not cancelled: The system failed (status 500)").await,
        0
    );
    let unknown = check("/fail", "", "It is not known whether the call took effect").await;
    assert_eq!(unknown, 1);
    assert_eq!(check("/hang", "", "did not answer within 1 s").await, 1);
}

/// O18: an address that is not public is never called, whether it is written as a name, as
/// a number, or behind a redirect.
#[tokio::test(flavor = "multi_thread")]
async fn o18_a_private_address_is_refused() {
    let (scenario, _) = scenario(SCRIPT).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    for host in ["http://10.0.0.1", "http://localhost", "http://[::1]", "http://192.168.1.1:8080"] {
        scenario.define_tool(ORG, &cancel_tool(host, "")).await;
        let outcome = operator.test_tool("shop_cancel", &json!({"order": "1"})).await.unwrap();
        assert_eq!(outcome.status, OutcomeStatus::Failed, "{host}: {outcome:?}");
        assert!(outcome.content.starts_with("Nothing was sent: "), "{host}: {outcome:?}");
        assert!(outcome.content.contains("`local_network = true`"), "{host}: {outcome:?}");
    }
}

/// Stops a worker while the order system has the request.
async fn die_during_the_call(scenario: &Scenario, shop: &OrderSystem) {
    let worker = scenario.worker.clone();
    let dies = tokio::spawn(async move { worker.answer_next().await });
    shop.arrived().await;
    dies.abort();
    let _gone = dies.await;
    let continued = async {
        while !scenario.worker.answer_next().await.unwrap() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), continued).await.expect("the lease ends");
}

/// O18, Z04: a call whose worker died is repeated with the same key if its system can take
/// that; otherwise its outcome is unknown, and it is not repeated.
#[tokio::test(flavor = "multi_thread")]
async fn o18_the_idempotency_key_is_repeated_after_a_crash() {
    tokio::join!(
        crash("idempotent = true", 2, r#"Cancelled: {"refund":"re_1"}"#),
        crash("", 1, "Not cancelled: ")
    );
}

async fn crash(definition: &str, calls: usize, answer: &str) {
    let shop = OrderSystem::start();
    let mut settings = retry_at_once();
    settings.claims.lease = Duration::from_millis(200);
    let (scenario, seen) = scenario_with(SCRIPT, Vec::new(), settings).await;
    make_autonomous(&scenario).await;
    scenario.define_tool(ORG, &cancel_tool(&format!("{}/hang", shop.url), definition)).await;
    scenario.write("rosa", "cancel it").await;
    die_during_the_call(&scenario, &shop).await;
    let said: Vec<String> = scenario.deliver().await.iter().map(text_of).collect();
    assert!(said.concat().starts_with(answer), "{definition}: {said:?}");
    let requests = shop.requests();
    assert_eq!(requests.len(), calls, "{definition}");
    let keys: Vec<_> = requests.iter().map(|request| request.key().unwrap()).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert_eq!(seen.count(), 2, "the model is not asked twice for the same");
    let unknown = scenario.session("rosa").await.unknown_outcomes;
    assert_eq!(unknown, u32::from(calls == 1));
}

/// O18: definitions are checked, audited with the state before and after, and only those who
/// configure the org may change them. A program needs the terminal.
#[tokio::test(flavor = "multi_thread")]
async fn o18_definitions_are_checked_authorized_and_audited() {
    let (scenario, _) = scenario(SCRIPT).await;
    let operations = scenario.operations();
    let tool = |text: &str| OrgTool::Http(toml::from_str(text).unwrap());
    let good = order_tool("https://shop.example");
    let key = |role| Actor::Key { id: KeyId::from_u128(7), org: ORG, role };
    let viewer = operations.as_actor(key(Role::Viewer), ORG);
    let refused = viewer.save_tool(tool(&good)).await;
    assert!(matches!(refused, Err(OperationError::Forbidden { .. })), "{refused:?}");
    let owner = operations.as_actor(key(Role::Owner), ORG);
    assert_eq!(owner.save_tool(tool(&good)).await.unwrap(), ToolChange::Added);
    assert_eq!(owner.save_tool(tool(&good)).await.unwrap(), ToolChange::Unchanged);
    let changed = good.replace("Looks up", "Finds");
    assert_eq!(owner.save_tool(tool(&changed)).await.unwrap(), ToolChange::Replaced);
    for (bad, expected) in [
        (good.replace("shop_order", "get_order"), "name: there is a built-in tool"),
        (good.replace("Bearer file:shop_token", "Bearer abc"), "headers.Authorization: a secret"),
        (good.replace("\"string\"", "\"strange\""), "input: not a JSON Schema"),
    ] {
        let problem = owner.save_tool(tool(&bad)).await.unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
    }
    let server = toml::from_str("name = \"stock\"\ncommand = \"/bin/false\"").unwrap();
    let server = OrgTool::Mcp(server);
    let refused = owner.save_tool(server.clone()).await;
    assert!(matches!(refused, Err(OperationError::Forbidden { .. })), "{refused:?}");
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    assert_eq!(terminal.save_tool(server).await.unwrap(), ToolChange::Added);
    owner.remove_tool(OrgToolKind::Http, "shop_order").await.unwrap();
    let audit = scenario.org().audit_entries(Some("shop_order"), None, 10).await.unwrap();
    let actions: Vec<&str> = audit.iter().map(|one| one.entry.action.as_str()).collect();
    assert_eq!(actions, ["remove_tool", "save_tool", "save_tool"]);
    let change: serde_json::Value = serde_json::from_str(&audit[1].entry.data).unwrap();
    assert_eq!(change["before"]["description"], "Looks up an order.");
    assert_eq!(change["after"]["description"], "Finds an order.");
}

/// O17: a server that cannot start takes away its own tools only, and says why; the agent
/// answers with the others.
#[tokio::test(flavor = "multi_thread")]
async fn o17_a_broken_server_degrades_only_its_tools() {
    let shop = OrderSystem::start();
    let stock = crate::support::start_mcp_server().await;
    let (scenario, _) = scenario(
        "
rules:
  - when: { user: how many }
    answer: [{ call: mcp__stock__count, with: { item: bell } }, 'There are {{ result }}']
default: 'Yes.'
",
    )
    .await;
    put_secret(ORG, "shop_token", "hunter2-secret");
    put_secret(ORG, "stock_token", "hunter2-secret");
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    let save = async |text: &str| {
        let server = OrgTool::Mcp(toml::from_str(text).unwrap());
        operator.save_tool(server).await.unwrap();
    };
    save("name = \"broken\"\ncommand = \"/no/such/program\"").await;
    save(&format!(
        "name = \"stock\"\nurl = \"{stock}\"\naudience = \"customer\"\ntools = [\"count\"]\n\
         risk = {{ count = \"read\" }}\nheaders = {{ Authorization = \"Bearer file:stock_token\" }}"
    ))
    .await;
    scenario.define_tool(ORG, &order_tool(&shop.url)).await;
    assert_eq!(scenario.say("rosa", "how many bells").await, ["There are 12 of bell"]);
    let tools = scenario.tools("rosa").await;
    assert!(tools.contains(&"shop_order".into()), "{tools:?}");
    assert!(!tools.iter().any(|tool| tool.contains("broken")), "{tools:?}");
    let set = operator.tool_set().await.unwrap();
    let broken: Vec<_> = set.unavailable.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(broken, ["mcp__broken__*"]);
    assert!(set.unavailable[0].reason.contains("cannot start `/no/such/program`"));
    assert!(set.tools.get("mcp__stock__delete").is_none(), "it is not in the list of tools");
    let tried = operator.test_tool("mcp__broken__x", &json!({})).await;
    assert!(matches!(tried, Err(OperationError::ToolUnavailable { .. })), "{tried:?}");
}

const REFUNDS: &str = "
rules:
  - when: { user: refund }
    answer: { call: refund_payment, with: { order: '1001', amount: '10.00', reason: late } }
  - when: { result: { tool: refund_payment, status: pending_approval } }
    answer: I ask my team.
  - when: { result: { tool: refund_payment, status: ok } }
    answer: 'Done: {{ result }}'
  - when: { result: refund_payment }
    answer: 'Not done: {{ result }}'
";

/// O28: without a payment provider a refund is a request in the records; with one it is made
/// there, with the key of its intent, and the provider's answer is the outcome.
#[tokio::test(flavor = "multi_thread")]
async fn o28_a_payment_provider_makes_the_refund() {
    let shop = OrderSystem::start();
    let (scenario, _) = scenario(REFUNDS).await;
    let pm = AgentId::from_u128(0x77);
    scenario.save_agent(agent(pm, "pia", "pm".into())).await;
    scenario.change_agent(pm, |pia| pia.autonomy = AutonomyLevel::Autonomous).await;
    let binding = BindingId::from_u128(0xb7);
    scenario.bind(binding, Channel::Sms, pm).await;
    let order = json!({"number": "1001", "status": "sent", "lines": [],
        "total": {"amount": "50.00", "currency": "EUR"}, "placed_at": "2026-11-10T10:00:00Z"});
    let id = RecordId::from_u128(5);
    scenario.org().create_record("order", id, order.to_string()).await.unwrap();
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.connect("payments", None).await.unwrap();
    let ask = async |person: &str| {
        let entry = ostler_domain::session::key::ConversationEntry::Owner;
        let key = scenario.key_on(binding, person, entry);
        scenario.say_in(&key, "refund").await.concat()
    };
    let statuses = async || -> Vec<serde_json::Value> {
        let stored = scenario.org().record("refunds", id).await.unwrap();
        let stored: serde_json::Value = serde_json::from_str(&stored.data).unwrap();
        stored["refunds"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect()
    };
    let requested = ask("a").await;
    assert!(requested.starts_with("Done: ") && requested.contains("refund_requested"));
    assert!(requested.contains("Nothing was paid yet"), "{requested}");
    assert_eq!(statuses().await, ["requested"]);

    let provider = cancel_tool(&format!("{}/refunds", shop.url), "idempotent = true")
        .replace("shop_cancel", "shop_refund");
    scenario.define_tool(ORG, &provider).await;
    let name = ToolName::from_static("shop_refund");
    let settings = OrgSettings { payment_provider: Some(name), ..lenient_settings() };
    scenario.save_settings(&settings).await;
    let made = ask("b").await;
    assert!(made.contains("\"refunded\"") && made.contains("re_1"), "{made}");
    let [request] = shop.requests().try_into().unwrap();
    assert_eq!(request.body, json!({"order": "1001", "amount": "10.00", "reason": "late"}));
    assert!(request.key().is_some());
    assert_eq!(statuses().await, ["requested", "made"]);
    let set = operator.tool_set().await.unwrap();
    assert_eq!(set.tools.definition("refund_payment").unwrap().spec.reach, Reach::External);
    assert!(set.tools.get("shop_refund").is_none(), "agents cannot pass the records by");

    scenario.define_tool(ORG, &provider.replace("/refunds", "/locked")).await;
    let refused = ask("c").await;
    assert!(refused.starts_with("Not done: The system refused"), "{refused}");
    operator.remove_tool(OrgToolKind::Http, "shop_refund").await.unwrap();
    let unavailable = ask("d").await;
    assert!(unavailable.contains("the payment provider is not available"), "{unavailable}");
    assert_eq!(statuses().await, ["requested", "made"], "what failed is not recorded");
}

/// O28: two refunds of one answer are made one after the other: the second sees the first,
/// so together they never exceed the order.
#[tokio::test(flavor = "multi_thread")]
async fn o28_two_refunds_of_one_answer_never_exceed_the_order() {
    let script = "
rules:
  - when: { user: refund }
    answer:
      calls:
        - { tool: refund_payment, with: { order: '1001', amount: '40.00', reason: late } }
        - { tool: refund_payment, with: { order: '1001', amount: '40.00', reason: cold } }
default: 'As you see: {{ result }}'
";
    let shop = OrderSystem::start();
    let (scenario, _) = scenario(script).await;
    let pm = AgentId::from_u128(0x77);
    scenario.save_agent(agent(pm, "pia", "pm".into())).await;
    scenario.change_agent(pm, |pia| pia.autonomy = AutonomyLevel::Autonomous).await;
    let binding = BindingId::from_u128(0xb7);
    scenario.bind(binding, Channel::Sms, pm).await;
    let order = json!({"number": "1001", "status": "sent", "lines": [],
        "total": {"amount": "50.00", "currency": "EUR"}, "placed_at": "2026-11-10T10:00:00Z"});
    scenario.org().create_record("order", RecordId::from_u128(5), order.to_string()).await.unwrap();
    let provider = cancel_tool(&format!("{}/refunds", shop.url), "idempotent = true")
        .replace("shop_cancel", "shop_refund");
    scenario.define_tool(ORG, &provider).await;
    let name = ToolName::from_static("shop_refund");
    let settings = OrgSettings { payment_provider: Some(name), ..lenient_settings() };
    scenario.save_settings(&settings).await;
    let entry = ostler_domain::session::key::ConversationEntry::Owner;
    scenario.say_in(&scenario.key_on(binding, "a", entry), "refund").await;
    assert_eq!(shop.requests().len(), 1, "the second is refused before the provider is asked");
    let stored = scenario.org().record("refunds", RecordId::from_u128(5)).await.unwrap();
    assert_eq!(stored.data.matches("\"40.00\"").count(), 1, "{}", stored.data);
}

/// O17: a tool that an org has made for staff is not offered to customers.
#[tokio::test(flavor = "multi_thread")]
async fn o18_a_tool_for_staff_is_not_offered_to_customers() {
    let shop = OrderSystem::start();
    let (scenario, _) = scenario(SCRIPT).await;
    let pm = AgentId::from_u128(0x77);
    scenario.save_agent(agent(pm, "pia", "pm".into())).await;
    scenario.bind(BindingId::from_u128(0xb7), Channel::Sms, pm).await;
    let staff = order_tool(&shop.url).replace("\"customer\"", "\"staff\"");
    scenario.define_tool(ORG, &staff).await;
    use ostler_domain::session::key::ConversationEntry::{Customer, Owner};
    for (entry, offered) in [(Customer, false), (Owner, true)] {
        let person = if offered { "owner" } else { "rosa" };
        let key = scenario.key_on(BindingId::from_u128(0xb7), person, entry);
        scenario.say_in(&key, "hello").await;
        let tools = scenario.tools(person).await;
        assert_eq!(tools.contains(&"shop_order".into()), offered, "{person}: {tools:?}");
    }
}
