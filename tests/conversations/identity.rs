//! Which agent answers, with which soul, and which contact it knows.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{AgentKind, AgentStatus, Brand, Protection};
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{AgentId, BindingId, ContactId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_engine::history::Item;
use ostler_runtime::deps::Settings;
use ostler_runtime::records::run::RunOutcome;
use ostler_runtime::records::snapshot::Snapshot;
use ostler_store::{OrgBinding, StoreError};
use ostler_testkit::TestDatabase;

use crate::support::{
    ENZO, GIA, ORG, Scenario, WEBCHAT, agent, failing_tool, item_text, lenient_settings, org,
    retry_at_once, scenario, scenario_in, scenario_with,
};

const PLAIN: &str = "default: I see.";
const SMS: BindingId = BindingId::from_u128(0x5115);

/// A01, A02: every run stores its harness with all nine groups and every field, empty
/// ones as such.
#[tokio::test]
async fn a01_a02_a_run_stores_its_whole_harness() {
    let scenario = scenario(PLAIN).await.0;
    scenario.say("rosa", "hello").await;
    let harness = serde_json::to_value(scenario.harness("rosa").await).unwrap();
    let fields = [
        ("identity", "agent_id display_name subtype protected organization_id"),
        ("soul", "owner version"),
        ("tool_scope", "active_tools disabled_for_session integration_requirements"),
        ("credit_budget", "session_budget org_budget parent_budget budget_owner"),
        ("autonomy", "autonomy_level require_approval_for blocked_topics"),
        ("rate_limits", "max_messages_per_day max_cost_per_day today"),
        (
            "session_context",
            "session_id channel external_contact_identifier conversation_history crm_contact \
             knowledge_base_docs session_mode",
        ),
        (
            "error_state",
            "failed_tools_this_session llm_retries_used is_degraded_mode degraded_reason",
        ),
        ("escalation_state", "human_escalation_requested escalation_reason pending_approvals"),
    ];
    assert_eq!(harness.as_object().unwrap().len(), fields.len());
    for (group, names) in fields {
        for name in names.split_whitespace() {
            assert!(harness[group].get(name).is_some(), "{group}.{name} in {harness}");
        }
    }
}

/// A01: what the harnesses of runs have in common is stored once; each run still has its whole
/// harness, also after the agent was changed.
#[tokio::test]
async fn a01_runs_share_what_their_harnesses_have_in_common() {
    let database = TestDatabase::sqlite_file();
    let store = database.migrated().await;
    let (scenario, _) = scenario_in(store, PLAIN, Vec::new(), Settings::default()).await;
    for (who, text) in [("rosa", "hello"), ("rosa", "and then?"), ("enzo", "good morning")] {
        scenario.say(who, text).await;
    }
    let rows = "SELECT count(*) FROM agent_harnesses";
    assert_eq!(database.number(rows).await, 1);
    assert_eq!(database.number("SELECT count(*) FROM runs").await, 3);
    let (rosa, enzo) = (scenario.harness("rosa").await, scenario.harness("enzo").await);
    assert_eq!((&rosa.identity, &rosa.tool_scope), (&enzo.identity, &enzo.tool_scope));
    let of = |harness: &Snapshot| {
        let session = &harness.session_context;
        (session.external_contact_identifier.clone(), session.conversation_history)
    };
    assert_eq!(of(&rosa), ("rosa".to_owned(), 2));
    assert_eq!(of(&enzo), ("enzo".to_owned(), 0));

    let mut gia = agent(GIA, "gia", Subtype::Pm);
    gia.display_name = "Gianna".into();
    scenario.save_agent(gia).await;
    scenario.say("enzo", "who is there?").await;
    assert_eq!(scenario.harness("enzo").await.identity.display_name, "Gianna");
    assert_eq!(scenario.harness("rosa").await.identity, rosa.identity);
    assert_eq!(database.number(rows).await, 2);
}

/// A05: nothing of another org is found, whatever id a message names.
#[tokio::test]
async fn a05_agents_and_documents_of_another_org_are_not_found() {
    let (scenario, seen) = scenario(PLAIN).await;
    let other = OrgId::from_u128(0x0c);
    scenario
        .store
        .create_org(org(other, "rival", OrgPlace::TopLevel, LicencePlan::Pro))
        .await
        .unwrap();
    let spy = AgentId::from_u128(0x599);
    let mut theirs = agent(spy, "spy", Subtype::Pm);
    theirs.org = other;
    scenario.store.org(other).save_agent(theirs).await.unwrap();
    let secret =
        ostler_domain::knowledge::Document::new("Secret", "The recipe is basil.", ["menu"]);
    let id = ostler_domain::id::DocumentId::from_u128(0xd0c);
    scenario.store.org(other).create_document(id, secret.unwrap()).await.unwrap();
    let contact = contact(0xc0, None, Some("rosa@example.org"));
    scenario.store.org(other).create_contact(contact).await.unwrap();

    // A test conversation with an agent of the other org has no agent.
    let key = scenario.key_on(WEBCHAT, "rosa@example.org", ConversationEntry::Testing);
    scenario.send(key.clone(), vec![MessagePart::text("basil recipe?")], Some(spy)).await;
    scenario.work().await;
    let run = scenario.runs("rosa@example.org").await.remove(0);
    assert_eq!((run.outcome, seen.count()), (RunOutcome::NoAgent, 0));

    scenario.say("rosa@example.org", "the recipe, please").await;
    let harness = scenario.harness("rosa@example.org").await;
    assert_eq!(harness.identity.organization_id, ORG);
    assert_eq!(harness.session_context.crm_contact, None);
    assert!(harness.session_context.knowledge_base_docs.is_empty());
    assert!(!seen.last().system.contains("basil"), "{}", seen.last().system);
    let session = scenario.session("rosa@example.org").await.id;
    let forced = scenario.store.org(other).session(session).await;
    assert!(matches!(forced, Err(StoreError::NotFound(_))), "{forced:?}");
}

/// A06: the agent bound to the channel answers, else the oldest; draft, paused, archived,
/// template and internal agents never do.
#[tokio::test]
async fn a06_the_bound_agent_answers_then_the_oldest() {
    let scenario = scenario(PLAIN).await.0;
    let (mia, tom) = (AgentId::from_u128(0x10), AgentId::from_u128(0x11));
    let answers = async |who: &str| {
        scenario.say(who, "hello").await;
        scenario.harness(who).await.identity.agent_id
    };
    for (id, slug) in [(mia, "mia"), (tom, "tom")] {
        scenario.save_agent(agent(id, slug, Subtype::CustomerService)).await;
    }
    assert_eq!(answers("a").await, GIA, "she is bound, though not the oldest");
    bind(&scenario, false).await;
    assert_eq!(answers("b").await, mia, "nobody's binding is enabled, and she is the oldest");
    bind(&scenario, true).await;
    for status in [AgentStatus::Draft, AgentStatus::Paused, AgentStatus::Archived] {
        scenario.change_agent(GIA, |gia| gia.status = status).await;
        assert_eq!(answers(&format!("{status:?}")).await, mia);
    }
    scenario.change_agent(GIA, |gia| gia.status = AgentStatus::Active).await;
    for kind in [AgentKind::Template, AgentKind::Internal] {
        scenario.change_agent(GIA, |gia| gia.kind = kind).await;
        assert_eq!(answers(&format!("{kind:?}")).await, mia);
    }
}

async fn bind(scenario: &Scenario, enabled: bool) {
    let mut bound = scenario.org().bindings(None, 10).await.unwrap().remove(0);
    bound.binding.enabled = enabled;
    scenario.org().save_binding(OrgBinding { ..bound }).await.unwrap();
}

/// A07: in an org without an active agent a worker of its template answers, else the
/// agent of the platform, else the customer is told.
#[tokio::test]
async fn a07_a_template_worker_or_the_platform_agent_stands_in() {
    let (scenario, seen) = scenario(PLAIN).await;
    for id in [GIA, ENZO] {
        scenario.change_agent(id, |one| one.status = AgentStatus::Paused).await;
    }
    let nobody = "Nobody is available to answer here at the moment. Please try again later.";
    assert_eq!(scenario.say("a", "hello").await, [nobody]);
    assert_eq!(scenario.runs("a").await[0].outcome, RunOutcome::NoAgent);
    assert_eq!(seen.count(), 0);

    let platform = OrgId::from_u128(1);
    scenario
        .store
        .create_org(org(platform, "house", OrgPlace::Platform, LicencePlan::Enterprise))
        .await
        .unwrap();
    let quinn = AgentId::from_u128(0x9);
    let mut system = agent(quinn, "quinn", Subtype::System);
    (system.org, system.protection) = (platform, Protection::Protected);
    let mut template = agent(AgentId::from_u128(0x8), "quinn-soul", Subtype::System);
    (template.org, template.protection) = (platform, Protection::Protected);
    template.kind = AgentKind::Template;
    system.template = Some(template.id);
    let soul = Soul { personality: "The house's own voice.".into(), ..Soul::default() };
    let at = Timestamp::from_millis(0);
    let version = SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at };
    let house = scenario.store.org(platform);
    house.save_agent(template.clone()).await.unwrap();
    house.push_soul(template.id, version).await.unwrap();
    house.save_agent(system).await.unwrap();
    assert_eq!(scenario.say("a", "hello?").await, ["I see."]);
    let harness = scenario.harness("a").await;
    assert_eq!((harness.identity.agent_id, harness.identity.organization_id), (quinn, ORG));
    assert!(seen.last().system.contains("The house's own voice."));
    assert_eq!((scenario.spent(platform).await, scenario.spent(ORG).await), (1, 0));

    scenario.change_agent(ENZO, |one| one.kind = AgentKind::Template).await;
    scenario.change_agent(ENZO, |one| one.status = AgentStatus::Active).await;
    assert_eq!(scenario.say("b", "hello").await, ["I see."]);
    let worker = scenario.harness("b").await.identity;
    let made = scenario.org().agent(worker.agent_id).await.unwrap();
    assert_eq!((made.kind, made.template), (AgentKind::Worker, Some(ENZO)));
    scenario.advance(Duration::from_secs(31));
    scenario.say("c", "hello").await;
    assert_eq!(scenario.harness("c").await.identity.agent_id, worker.agent_id, "there is one now");
    assert_eq!(scenario.org().agents().await.unwrap().len(), 3);
}

/// A08, A09, C22: at either daily limit no model is asked and nothing is charged; the
/// customer is told once, and the harness shows the counters.
#[tokio::test]
async fn a08_a09_c22_at_a_daily_limit_no_model_is_asked() {
    let script = "
price: { input: 0, output: 1000 }
usage: { output: 1500 }
default: I see.
";
    let (scenario, seen) = scenario(script).await;
    let mut settings = lenient_settings();
    settings.session_budget.cap = Credits::new(10_000);
    settings.session_budget.warning = Credits::new(10_000);
    scenario.save_settings(&settings).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 2).await;
    scenario.say("rosa", "one").await;
    scenario.say("rosa", "two").await;
    let limits = scenario.harness("rosa").await.rate_limits;
    assert_eq!((limits.today.messages, limits.today.cost), (1, Usd::from_micros(1_500_000)));
    let charged = scenario.spent(ORG).await;
    let told = "I cannot answer any more messages today. Please write again tomorrow.";
    assert_eq!(scenario.say("rosa", "three").await, [told]);
    assert_eq!(scenario.say("rosa", "four").await, [""; 0]);
    let runs = scenario.runs("rosa").await;
    let outcomes: Vec<&str> = runs.iter().map(|run| run.outcome.as_str()).collect();
    assert_eq!(outcomes, ["answered", "answered", "rate_limited", "rate_limited"]);
    assert_eq!((seen.count(), scenario.spent(ORG).await), (2, charged));

    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 100).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_cost_per_day = Usd::from_dollars(3)).await;
    assert_eq!(scenario.say("otto", "hello").await, [told]);
    assert_eq!(seen.count(), 2);
}

/// S06: one customer cannot use up an agent's day: they get a quarter of its messages, at least
/// ten, are told so once, and others are answered.
#[tokio::test]
async fn s06_one_customer_cannot_silence_an_agent_for_others() {
    let (scenario, seen) = scenario("default: 'About {{ user }}: yes.'").await;
    let mut settings = lenient_settings();
    settings.session_budget.cap = Credits::new(10_000);
    settings.session_budget.warning = Credits::new(10_000);
    scenario.save_settings(&settings).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 12).await;
    for n in 0..10 {
        let text = format!("topic {n}");
        assert_eq!(scenario.say("rosa", &text).await, [format!("About {text}: yes.")]);
    }
    let told = "I cannot answer any more messages today. Please write again tomorrow.";
    assert_eq!(scenario.say("rosa", "more").await, [told]);
    assert_eq!(scenario.say("rosa", "and more").await, [""; 0]);
    assert_eq!(seen.count(), 10);
    assert_eq!(scenario.say("otto", "hello").await, ["About hello: yes."]);
}

/// A08: a message counts towards the limit of the day also if its turn failed: the model was
/// asked.
#[tokio::test]
async fn a08_a_message_whose_turn_failed_counts() {
    let script = "
rules:
  - when: { user: one }
    answer: { fail: 401 }
default: I see.
";
    let (scenario, _) = scenario(script).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 1).await;
    scenario.say("rosa", "one").await;
    scenario.say("otto", "two").await;
    let outcome = scenario.runs("otto").await.pop().unwrap().outcome;
    assert_eq!(outcome.as_str(), "rate_limited");
}

/// A08: the limits of a colleague count also when the conversation is handed over in the
/// middle of a run.
#[tokio::test]
async fn a08_a_colleague_who_has_reached_the_limit_answers_nobody() {
    let script = "
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: an invoice, contextSummary: about an invoice }
default: 'About {{ user }}: yes.'
";
    let (scenario, seen) = scenario(script).await;
    scenario.change_agent(ENZO, |enzo| enzo.limits.max_messages_per_day = 1).await;
    assert_eq!(scenario.say("otto", "my invoice").await, ["About my invoice: yes."]);
    let asked = seen.count();
    let told = "I cannot answer any more messages today. Please write again tomorrow.";
    assert_eq!(scenario.say("rosa", "my invoice").await, [told]);
    assert_eq!(seen.count(), asked + 1, "Gia is asked, Enzo is not");
    let outcome = scenario.runs("rosa").await.pop().unwrap().outcome;
    assert_eq!(outcome.as_str(), "rate_limited");
}

/// A09: the daily counters of the harness equal the sum of the ledger lines.
#[tokio::test]
async fn a09_the_daily_counters_of_the_harness_match_the_ledger() {
    let script = "
price: { input: 0, output: 1000 }
usage: { output: 20 }
default: I see.
";
    let (scenario, _) = scenario(script).await;
    for n in 0..3 {
        scenario.say(&format!("p{n}"), "hello").await;
    }
    let today = {
        scenario.say("p0", "again").await;
        scenario.harness("p0").await.rate_limits.today
    };
    assert_eq!((today.messages, today.cost), (3, Usd::from_micros(60_000)));
    // 2 cents are 2 credits; this message is not counted yet.
    assert_eq!(scenario.spent(ORG).await, 3 * 2 + 2);
}

/// A10: other persons, other channels, tests and the owner's own conversation have
/// sessions of their own.
#[tokio::test]
async fn a10_person_channel_and_entry_have_separate_sessions() {
    let scenario = scenario(PLAIN).await.0;
    scenario.bind(SMS, Channel::Sms, GIA).await;
    let keys = [
        scenario.key("rosa"),
        scenario.key("otto"),
        scenario.key_on(SMS, "rosa", ConversationEntry::Customer),
        scenario.key_on(WEBCHAT, "rosa", ConversationEntry::Testing),
        scenario.key_on(WEBCHAT, "rosa", ConversationEntry::Owner),
    ];
    for key in keys.iter().chain(&keys) {
        scenario.say_in(key, "hello").await;
    }
    let sessions = scenario.sessions().await;
    let ids: BTreeSet<_> = sessions.iter().map(|one| one.id).collect();
    assert_eq!(ids.len(), keys.len(), "the second message of each joined the first one's");
    assert!(sessions.iter().all(|one| one.messages >= 4), "a test is greeted besides");
}

fn contact(id: u128, phone: Option<&str>, email: Option<&str>) -> Contact {
    let details = ContactDetails { phone: phone.map(Into::into), email: email.map(Into::into) };
    Contact {
        id: ContactId::from_u128(id),
        name: "Rosa".into(),
        details,
        locale: None,
        tags: BTreeSet::new(),
        notes: Vec::new(),
        crm: None,
    }
}

/// A12: a contact is recognized by phone on phone channels and by e-mail on all, also in
/// later messages; an unknown person is answered too.
#[tokio::test]
async fn a12_a_contact_is_recognized_by_phone_or_email() {
    let scenario = scenario(PLAIN).await.0;
    scenario.bind(SMS, Channel::Sms, GIA).await;
    let known = contact(0xc0, Some("+39 055 1234"), Some("Rosa@Example.org"));
    let stored = scenario.org().create_contact(known.clone()).await.unwrap();
    let recognized = async |binding, who: &str| {
        scenario.say_in(&scenario.key_on(binding, who, ConversationEntry::Customer), "hello").await;
        let session = scenario.session(who).await;
        (session.contact, scenario.harness(who).await.session_context.crm_contact)
    };
    let rosa = (Some(known.id), Some(known.id));
    assert_eq!(recognized(SMS, "+390551234").await, rosa);
    assert_eq!(recognized(WEBCHAT, "rosa@example.ORG").await, rosa);
    assert_eq!(recognized(WEBCHAT, "+39 0551234").await, (None, None), "not a phone channel");
    assert_eq!(recognized(WEBCHAT, "somebody").await, (None, None));
    let moved = Contact { details: ContactDetails::default(), ..known };
    scenario.org().update_contact(stored.version, moved).await.unwrap();
    assert_eq!(recognized(SMS, "+390551234").await, rosa, "a match is kept");
}

/// A15, A19, A27, C01: the prompt has the soul, the brand, the guardrails, the org and
/// the colleagues; the history has the last twenty messages, oldest first, and then the
/// new one.
#[tokio::test]
async fn a15_a19_a27_c01_the_prompt_has_soul_brand_guardrails_team_and_history() {
    let (scenario, seen) = scenario("default: 'About {{ user }}: yes.'").await;
    let brand = |name: &str| {
        Some(Brand { name: name.into(), voice: "familiar".into(), about: "Since 1984.".into() })
    };
    scenario.change_agent(GIA, |gia| gia.brand = brand("Bella")).await;
    scenario.change_agent(ENZO, |enzo| enzo.brand = brand("Enzo & Sons")).await;
    let soul = Soul {
        personality: "Warm and quick.".into(),
        traits: vec!["patient".into()],
        communication_style: "Short sentences.".into(),
        core_values: vec!["honesty".into()],
        never_do: vec!["promise a refund".into()],
        always_do: vec!["greet by name".into()],
        escalation_triggers: vec!["my lawyer".into()],
        soul_markdown: "You love pizza.".into(),
    };
    let at = Timestamp::from_millis(0);
    let version = SoulVersion { version: 2, soul: soul.clone(), origin: SoulOrigin::Created, at };
    scenario.org().push_soul(GIA, version).await.unwrap();
    let stored = scenario.org().soul_versions(GIA).await.unwrap().pop().unwrap();
    assert_eq!((stored.soul, stored.version), (soul, 2));
    for n in 0..12 {
        scenario.say("rosa", &format!("question {n}")).await;
    }
    assert_eq!(scenario.harness("rosa").await.soul.version, 2);
    let asked = seen.last();
    for part in [
        "You are Gia, customer_service of Bella Pizza.",
        "Active colleagues: Enzo",
        "Warm and quick.",
        "patient",
        "Short sentences.",
        "honesty",
        "promise a refund",
        "greet by name",
        "my lawyer",
        "You love pizza.",
        "medical advice",
        "Bella",
    ] {
        assert!(asked.system.contains(part), "{part} in {}", asked.system);
    }
    assert!(!asked.system.contains("Enzo & Sons"), "{}", asked.system);
    assert!(!asked.system.contains("Plan:"), "she talks to end customers");
    let said: Vec<String> = asked.history.iter().map(item_text).collect();
    assert_eq!(said.len(), 21);
    assert_eq!((&*said[0], &*said[1]), ("question 1", "About question 1: yes."));
    assert_eq!((&*said[19], &*said[20]), ("About question 10: yes.", "question 11"));

    let key = scenario.key_on(WEBCHAT, "owner", ConversationEntry::Owner);
    scenario.change_agent(ENZO, |enzo| enzo.subtype = Subtype::Pm).await;
    scenario.say_in(&key, "hello").await;
    assert!(seen.last().system.contains("Plan: pro"), "{}", seen.last().system);
    assert!(seen.last().system.contains("Active colleagues: Gia"), "{}", seen.last().system);
    assert!(matches!(seen.last().history[..], [Item::User { .. }]));
}

const BROKEN: &str = "
rules:
  - when: { user: products }
    answer:
      - { call: list_products }
      - Let me see.
default: I see.
";

/// A23: failures of tools are in the harness of the next turn, also after a restart;
/// model retries count for their own turn only.
#[tokio::test]
async fn a23_failure_counts_survive_a_restart() {
    let broken = || vec![failing_tool("list_products")];
    let (scenario, _) = scenario_with(BROKEN, broken(), retry_at_once()).await;
    scenario.say("rosa", "products").await;
    let before = scenario.harness("rosa").await.error_state;
    assert!(before.failed_tools_this_session.is_empty());
    let (models, _) = crate::support::recording_catalogue(BROKEN);
    let again =
        Scenario::with_replaced_tools(scenario.store.clone(), models, retry_at_once(), broken());
    again.write_with_id("rosa", "hello", "after-restart").await;
    again.work().await;
    let errors = again.harness("rosa").await.error_state;
    let failures: Vec<(String, u32)> =
        errors.failed_tools_this_session.iter().map(|(tool, n)| (tool.to_string(), *n)).collect();
    assert_eq!(failures, [("list_products".to_owned(), 1)]);
    assert_eq!((errors.llm_retries_used, errors.is_degraded_mode), (0, false));
}

/// A21, A24: the harness counts the pending approvals.
#[tokio::test]
async fn a21_a24_the_harness_counts_pending_approvals() {
    let script = "
rules:
  - when: { user: book }
    answer:
      - { call: create_contact, with: { name: '{{ user }}' } }
      - A colleague is looking at it.
default: I see.
";
    let (scenario, _) = scenario(script).await;
    scenario.say("rosa", "book one").await;
    scenario.say("rosa", "book two").await;
    scenario.say("rosa", "hello").await;
    let harness = scenario.harness("rosa").await;
    assert_eq!(harness.escalation_state.pending_approvals, 2);
    assert_eq!(scenario.org().count_pending_approvals(None).await.unwrap(), 2);
    let context = serde_json::to_value(&harness.session_context).unwrap();
    assert_eq!(context["session_mode"], "freeform");
    assert_eq!(
        (context["channel"].as_str(), context["conversation_history"].as_u64()),
        (Some("webchat"), Some(8))
    );
}
