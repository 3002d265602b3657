//! Agents administer what their business layer allows; the effect is read in the org concerned.

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::channel::Channel;
use ostler_domain::id::OrgId;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::session::key::ConversationEntry;
use ostler_runtime::operations::Actor;
use ostler_runtime::operations::explain::fresh_scope;
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_store::{DecisionState, Store};
use serde_json::{Value, json};

use super::tree::{AGENCY, LUCA, PLATFORM, STRANGER, Tree, chat_of};
use crate::support::{ECHO, ENZO, GIA, ORG, on_every_database};

/// Returns a script in which a message `do NAME` makes the call of that name and answers with
/// its result.
pub(super) fn script(calls: &[(&str, &str, Value)]) -> String {
    let rule = |(name, tool, arguments): &(&str, &str, Value)| {
        json!({"when": {"user": format!("do {name}")},
            "answer": [{"call": tool, "with": arguments}, "{{ result }}"]})
    };
    let rules: Vec<Value> = calls.iter().map(rule).collect();
    json!({"rules": rules, "default": "I see."}).to_string()
}

fn answer(answers: &[String]) -> &str {
    answers.first().map(String::as_str).unwrap_or_default()
}

async fn bindings(tree: &Tree, at: OrgId) -> usize {
    tree.scenario.store.org(at).bindings(None, 100).await.unwrap().len()
}

on_every_database!(
    /// L08, L10, L37, L47, L51: an agency's PM creates a client with agents, an owner and a web
    /// chat, once, within the licence; it lists and measures its own clients only.
    l51_an_agencys_pm_creates_lists_and_measures_its_clients
);
async fn l51_an_agencys_pm_creates_lists_and_measures_its_clients(store: Store) {
    let pasta = json!({"slug": "pasta", "name": "Pasta Bar", "owners": ["Ada@pasta.example"],
        "timeZone": "Europe/Rome", "coordinator": true});
    let script = script(&[
        ("create-pasta", "create_client_org", pasta),
        ("create-third", "create_client_org", json!({"slug": "third", "name": "Third"})),
        ("create-taken", "create_client_org", json!({"slug": "stranger", "name": "Mine"})),
        ("create-broken", "create_client_org", json!({"slug": "Not A Slug", "name": "X"})),
        ("list", "list_client_orgs", json!({})),
        ("stats-bella", "get_client_org_stats", json!({"clientSlug": "bella"})),
        ("stats-stranger", "get_client_org_stats", json!({"clientSlug": "stranger"})),
        ("stats-platform", "get_client_org_stats", json!({"clientSlug": "platform"})),
    ]);
    let tree = Tree::in_store(store, &script).await;
    let mara = async |name: &str| tree.owner_says(AGENCY, &format!("do {name}")).await;
    assert_eq!(mara("create-pasta").await, ["Pasta Bar (`pasta`) is created."]);
    let store = &tree.scenario.store;
    let id = store.org_by_slug("pasta").await.unwrap().expect("it exists");
    let org = store.org(id).org().await.unwrap();
    assert_eq!((org.parent(), org.plan), (Some(AGENCY), LicencePlan::Free));
    assert_eq!((org.time_zone.as_str(), org.sub_orgs_enabled), ("Europe/Rome", false));
    let agents = store.org(id).agents().await.unwrap();
    let mut roles: Vec<String> = agents.iter().map(|one| one.subtype.to_string()).collect();
    roles.sort();
    assert_eq!(roles, ["coordinator", "customer_service", "pm"]);
    let people = store.org(id).members(None, 9).await.unwrap();
    let people: Vec<_> = people.iter().map(|one| (one.user.email.as_str(), one.role)).collect();
    assert_eq!(people, [("ada@pasta.example", Role::Owner)]);
    let channels = store.org(id).bindings(None, 9).await.unwrap();
    assert_eq!(channels[0].binding.channel, Channel::Webchat);
    assert!(tree.audit(id).await.contains(&"create_org".to_owned()), "the client can see by whom");

    assert_eq!(mara("create-pasta").await, ["Pasta Bar (`pasta`) exists already."]);
    assert_eq!(store.org(id).agents().await.unwrap().len(), 3, "nothing is made twice");
    let third = mara("create-third").await;
    assert!(answer(&third).contains("the agency plan includes 2 sub-orgs"), "{third:?}");
    let taken = mara("create-taken").await;
    assert!(answer(&taken).contains("there is an organization `stranger` already"), "{taken:?}");
    assert!(answer(&mara("create-broken").await).starts_with("Not done"));
    assert_eq!(store.orgs().await.unwrap().len(), 5, "refused ones leave nothing");

    let listed: Value = serde_json::from_str(answer(&mara("list").await)).unwrap();
    let listed = listed["clients"].as_array().unwrap();
    let slugs: Vec<&str> = listed.iter().map(|one| one["slug"].as_str().unwrap()).collect();
    assert_eq!(slugs, ["bella", "pasta"]);
    tree.scenario.say("rosa", "hello").await;
    let test = tree.scenario.key_on(chat_of(ORG), "ada", ConversationEntry::Testing);
    tree.scenario.say_in(&test, "hello").await;
    let stats: Value = serde_json::from_str(answer(&mara("stats-bella").await)).unwrap();
    assert_eq!((&stats["agents"], &stats["sessions"]), (&json!(3), &json!(1)), "{stats}");
    for other in ["stats-stranger", "stats-platform"] {
        let said = mara(other).await;
        assert!(answer(&said).starts_with("Not done: no organization"), "{said:?}");
    }
}

/// B16, L51: without the licence an agency's PM has none of the agency tools.
#[tokio::test]
async fn b16_without_the_licence_there_are_no_agency_tools() {
    let tree = Tree::new(ECHO).await;
    let tools = ["create_client_org", "list_client_orgs", "get_client_org_stats"];
    for licensed in [true, false] {
        let org = tree.scenario.store.org(AGENCY).org().await.unwrap();
        let org = Org { sub_orgs_enabled: licensed, ..org };
        tree.scenario.store.org(AGENCY).update_org(org).await.unwrap();
        tree.owner_says(AGENCY, "hello").await;
        let offered = tree.offered_to("Mara");
        for tool in tools.iter().chain(&["deploy_telegram_bot"]) {
            assert_eq!(offered.iter().any(|one| one == tool), licensed, "{tool}");
        }
    }
}

/// L38, L51: a bot is connected to a client once its token is accepted; a bad token stores
/// nothing, and a token is never an argument.
#[tokio::test]
async fn l51_an_agencys_pm_deploys_a_bot_for_its_client() {
    let deploy = |client: &str, token: &str| json!({"clientSlug": client, "token": token});
    let script = script(&[
        ("deploy-good", "deploy_telegram_bot", deploy("bella", "env:BELLA_BOT")),
        ("deploy-bad", "deploy_telegram_bot", deploy("bella", "env:bad_token")),
        ("deploy-written", "deploy_telegram_bot", deploy("bella", "123:abcdef")),
        ("deploy-stranger", "deploy_telegram_bot", deploy("stranger", "env:X")),
    ]);
    let tree = Tree::new(&script).await;
    let before = bindings(&tree, ORG).await;
    for bad in ["deploy-bad", "deploy-written", "deploy-stranger"] {
        let said = tree.owner_says(AGENCY, &format!("do {bad}")).await;
        assert!(answer(&said).starts_with("Not done: "), "{said:?}");
        assert!(!answer(&said).contains("123:abcdef"), "{said:?}");
        assert_eq!(bindings(&tree, ORG).await, before, "{bad}");
    }
    for _ in 0..2 {
        let said = tree.owner_says(AGENCY, "do deploy-good").await;
        assert!(answer(&said).starts_with("The bot @test_bot is connected"), "{said:?}");
        assert_eq!(bindings(&tree, ORG).await, before + 1, "once");
    }
    let bound = tree.scenario.org().bindings(None, 9).await.unwrap();
    let bot = bound.iter().find(|one| one.binding.channel == Channel::Telegram).unwrap();
    assert_eq!((bot.agent, bot.binding.enabled), (GIA, true), "customers reach customer service");
    assert!(tree.audit(ORG).await.contains(&"save_binding".to_owned()));
}

/// B22, L37: the platform's agent lists all orgs, changes a plan, and suspends an org after a
/// person approved it.
#[tokio::test]
async fn b22_the_platforms_agent_administers_every_org() {
    let script = script(&[
        ("list", "list_organizations", json!({})),
        ("plan", "set_org_plan", json!({"organization": "stranger", "plan": "enterprise"})),
        ("suspend", "suspend_organization", json!({"organization": "stranger"})),
    ]);
    let tree = Tree::new(&script).await;
    let listed = tree.owner_says(PLATFORM, "do list").await;
    let listed: Value = serde_json::from_str(answer(&listed)).unwrap();
    let bella = listed["organizations"].as_array().unwrap().iter();
    let bella = bella.clone().find(|one| one["slug"] == "bella").expect("listed");
    assert_eq!(bella["agency"], "harbour");
    assert_eq!(
        tree.owner_says(PLATFORM, "do plan").await,
        ["`stranger` has the plan enterprise now."]
    );
    let stranger = || async { tree.scenario.store.org(STRANGER).org().await.unwrap() };
    assert_eq!(stranger().await.plan, LicencePlan::Enterprise);
    let said = tree.owner_says(PLATFORM, "do suspend").await;
    if !stranger().await.archived {
        let operations = tree.scenario.operations();
        let platform = operations.as_actor(Actor::Terminal, PLATFORM);
        let waiting = platform.approvals(DecisionState::Pending, None, 9).await.unwrap();
        assert_eq!(waiting.len(), 1, "{said:?}");
        platform.approve(waiting[0].approval.id).await.unwrap();
        tree.scenario.work().await;
    }
    assert!(stranger().await.archived, "{said:?}");
    for org in [ORG, AGENCY] {
        tree.owner_says(org, "hello").await;
    }
    for name in ["Luca", "Mara"] {
        let offered = tree.offered_to(name);
        for tool in ["list_organizations", "set_org_plan", "suspend_organization"] {
            assert!(!offered.iter().any(|one| one == tool), "{name} has {tool}");
        }
    }
}

/// L39, L44, H11: a PM changes settings and agents of its own org, but nothing that bounds
/// agents, no soul, and nothing of another org.
#[tokio::test]
async fn l39_l44_a_pm_changes_what_bounds_no_agent() {
    let agent = |changes: Value| json!({"agent": "gia", "changes": changes});
    let settings = |changes: Value| json!({ "changes": changes });
    let theirs = json!({"agent": "gia", "organization": "bella", "changes": {"name": "Mine"}});
    let script = script(&[
        ("rename", "update_agent", agent(json!({"name": "Gianna"}))),
        ("autonomy", "update_agent", agent(json!({"autonomy": "draft_only"}))),
        ("role", "update_agent", agent(json!({"subtype": "pm"}))),
        ("soul", "update_agent", agent(json!({"soul": {"personality": "bold"}}))),
        ("unknown-field", "update_agent", agent(json!({"nonsense": 1}))),
        ("theirs", "update_agent", theirs),
        ("team", "update_org_settings", settings(json!({"team": {"max_handoffs": 2}}))),
        ("budget", "update_org_settings", settings(json!({"session_budget": {"cap": 9999}}))),
        ("hosts", "update_org_settings", settings(json!({"web_hosts": ["*"]}))),
    ]);
    let tree = Tree::new(&script).await;
    tree.scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::SemiAutonomous).await;
    let luca = async |name: &str| tree.owner_says(ORG, &format!("do {name}")).await;
    assert_eq!(luca("rename").await, ["`gia` is changed."]);
    let gia = || async { tree.scenario.org().agent(GIA).await.unwrap() };
    let renamed = gia().await;
    assert_eq!(renamed.display_name, "Gianna");
    for (name, why) in [
        ("autonomy", "only a person can change this setting"),
        ("role", "only a person can change this setting"),
        ("soul", "an agent cannot write a soul"),
        ("unknown-field", "nonsense"),
    ] {
        let said = luca(name).await;
        assert!(answer(&said).contains(why), "{name}: {said:?}");
        assert_eq!(gia().await, renamed, "{name}");
    }
    let said = tree.owner_says(AGENCY, "do theirs").await;
    assert!(answer(&said).contains("may not modify agents here"), "H11: {said:?}");
    assert_eq!(gia().await, renamed);

    assert_eq!(luca("team").await, ["The settings are changed."]);
    let record = tree.scenario.org().record(SETTINGS, settings_record(ORG)).await.unwrap();
    let stored: Value = serde_json::from_str(&record.data).unwrap();
    assert_eq!(stored["team"]["max_handoffs"], 2, "{stored}");
    for name in ["budget", "hosts"] {
        let said = luca(name).await;
        assert!(answer(&said).contains("only a person changes the setting"), "{said:?}");
    }
    let after = tree.scenario.org().record(SETTINGS, settings_record(ORG)).await.unwrap();
    assert_eq!(after.data, record.data);
}

/// What `tools explain` calls active is what the model is offered, at every layer.
#[tokio::test]
async fn l51_an_explanation_lists_exactly_what_the_model_is_offered() {
    let tree = Tree::new(ECHO).await;
    let owners = [(PLATFORM, "quinn", "Quinn"), (AGENCY, "mara", "Mara"), (ORG, "luca", "Luca")];
    tree.scenario.say("rosa", "hello").await;
    for (org, _, _) in owners {
        tree.owner_says(org, "hello").await;
    }
    for (org, slug, name) in owners.into_iter().chain([(ORG, "gia", "Gia")]) {
        let tools = tree.scenario.worker.deps().tools.clone();
        let scope = fresh_scope(&tree.scenario.store, &tools, org, slug).await.unwrap().unwrap();
        let mut explained: Vec<String> =
            scope.scope.active().map(|spec| spec.name.to_string()).collect();
        let mut offered = tree.offered_to(name);
        explained.sort();
        offered.sort();
        assert_eq!(explained, offered, "{name}");
    }
}

/// L46: a client with a PM only answers its customers with the PM, who has the rights of
/// layer 4 there.
#[tokio::test]
async fn l46_the_pm_of_a_single_agent_client_answers_customers() {
    let tree = Tree::new(ECHO).await;
    for agent in [GIA, ENZO] {
        let paused = ostler_domain::agent::AgentStatus::Paused;
        tree.scenario.change_agent(agent, |one| one.status = paused).await;
    }
    let place = tree.scenario.org().org().await.unwrap().place;
    assert_eq!(place, OrgPlace::SubOrg { parent: AGENCY });
    assert_eq!(tree.scenario.say("rosa", "hello").await, ["About hello: yes."]);
    let offered = tree.offered_to("Luca");
    assert!(!offered.iter().any(|one| one == "update_agent"), "{offered:?}");
    assert_eq!(tree.owner_says(ORG, "hello").await, ["About hello: yes."]);
    assert!(tree.offered_to("Luca").iter().any(|one| one == "update_agent"));
    assert_eq!(tree.scenario.org().agent(LUCA).await.unwrap().slug, "luca");
}
