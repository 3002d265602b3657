//! Handoffs between agents: who answers, what is in the prompt, and parallel work.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::FutureExt as _;
use futures_util::stream::{BoxStream, StreamExt as _};
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::audit::{AuditActor, REFUSED};
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::human::triggers::TriggerKind;
use ostler_domain::id::{AgentId, ContactId};
use ostler_domain::money::Credits;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::config::TeamConfig;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::outcome::OutcomeStatus;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::Actor;
use ostler_runtime::records::run::RunOutcome;
use ostler_testkit::TestDatabase;
use tokio::sync::Barrier;

use crate::support::{
    ENZO, GIA, ModelCalls, ORG, RecordingModel, Scenario, agent, catalogue_of, item_text,
    lenient_settings, scenario, scripted,
};

/// An agent for the kitchen.
const NINA: AgentId = AgentId::from_u128(0x717a);
const COOLDOWN: Duration = Duration::from_secs(121);

const SCRIPT: &str = "
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: invoice discrepancy,
              contextSummary: Rosa paid 50 and expected 40,
              suggestedApproach: compare it with order 1234,
              note: she is in a hurry, conversationGoal: ten euros back }
  - when: { user: oven, agent: 'You are Enzo' }
    answer:
      call: tag_in_agent
      with: { targetAgentId: nina, reason: the oven, contextSummary: her pizza was cold,
              note: be quick }
  - when: { user: money, agent: 'You are Nina' }
    answer:
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: money again, contextSummary: she asks for money }
  - when: { user: back, agent: 'You are Enzo' }
    answer:
      call: tag_in_agent
      with: { targetAgentId: gia, reason: done, contextSummary: all is paid back }
default: 'About {{ user }}: yes.'
";

async fn with_nina(scenario: &Scenario) {
    scenario.save_agent(agent(NINA, "nina", Subtype::from("kitchen"))).await;
}

/// Returns the last system prompt of an agent.
fn last_prompt(seen: &ModelCalls, name: &str) -> String {
    let begin = format!("You are {name}");
    let of = seen.all().into_iter().rev().find(|asked| asked.system.contains(&begin));
    of.expect("it was asked").system
}

/// Returns the text between the marks of a handoff.
fn handoff_block(prompt: &str) -> &str {
    const END: &str = "--- END HANDOFF CONTEXT ---";
    let from = prompt.find("--- HANDOFF CONTEXT ---").expect("it begins");
    let to = prompt.find(END).expect("it ends") + END.len();
    &prompt[from..to]
}

/// G03: a trigger with a configured specialist makes a team: the specialist answers this
/// message and the next ones. Without a specialist it escalates.
#[tokio::test]
async fn g03_a_trigger_with_a_specialist_makes_a_team() {
    for mapped in [true, false] {
        let (scenario, seen) = scenario(SCRIPT).await;
        scenario.change_agent(ENZO, |enzo| enzo.blocked_topics.clear()).await;
        let specialists =
            if mapped { [(TriggerKind::BlockedTopic, ENZO)].into() } else { [].into() };
        let team = TeamConfig { specialists, ..TeamConfig::default() };
        scenario.save_settings(&OrgSettings { team: Some(team), ..lenient_settings() }).await;
        scenario.say("rosa", "hello").await;
        let heard = scenario.say("rosa", "I need medical advice").await;
        let (session, run) =
            (scenario.session("rosa").await, scenario.runs("rosa").await.pop().unwrap());
        if !mapped {
            assert_eq!((session.team, session.status), (None, SessionStatus::HandedOff));
            assert_eq!((run.turns.len(), seen.count()), (0, 1), "no model is asked");
            continue;
        }
        assert_eq!(heard, ["About I need medical advice: yes."]);
        let team = session.team.unwrap();
        assert_eq!((team.participants(), team.active()), (&[GIA, ENZO][..], ENZO));
        assert_eq!(team.history()[0].reason, "blocked topic: medical advice");
        let answered = run.turns.iter().map(|turn| turn.agent).collect::<Vec<_>>();
        assert_eq!((answered, run.outcome), (vec![ENZO], RunOutcome::Answered));
        assert_eq!((session.status, session.escalation), (SessionStatus::Active, None));
        scenario.say("rosa", "thanks").await;
        assert_eq!(scenario.runs("rosa").await.pop().unwrap().turns[0].agent, ENZO);
    }
}

/// G07: a message runs in the harness of the active agent of the team, or of the default
/// agent without a team.
#[tokio::test]
async fn g07_a_message_runs_in_the_active_agents_harness() {
    let (scenario, seen) = scenario(SCRIPT).await;
    scenario.say("rosa", "my invoice").await;
    scenario.say("rosa", "and then?").await;
    let run = scenario.runs("rosa").await.pop().unwrap();
    assert_eq!(run.turns.iter().map(|turn| turn.agent).collect::<Vec<_>>(), [ENZO]);
    assert_eq!(run.turns[0].harness.identity.agent_id, ENZO);
    assert_eq!(run.turns[0].harness.soul.owner, ENZO);
    assert!(seen.last().system.contains("You are Enzo"), "{}", seen.last().system);
    scenario.say("otto", "hello").await;
    assert_eq!(scenario.harness("otto").await.identity.agent_id, GIA);
    assert!(seen.last().system.contains("You are Gia"), "{}", seen.last().system);
}

/// G16: the four parameters of a handoff are stored in the session and in the prompt of
/// the agent that was tagged in.
#[tokio::test]
async fn g16_the_parameters_of_a_handoff_are_stored_and_in_the_prompt() {
    let (scenario, seen) = scenario(SCRIPT).await;
    scenario.say("rosa", "my invoice").await;
    let team = scenario.session("rosa").await.team.unwrap();
    let [record] = team.history() else { panic!("{:?}", team.history()) };
    assert_eq!((record.from, record.to), (GIA, ENZO));
    assert_eq!(record.reason, "invoice discrepancy");
    assert_eq!(record.context_summary, "Rosa paid 50 and expected 40");
    assert_eq!(record.suggested_approach.as_deref(), Some("compare it with order 1234"));
    let told = last_prompt(&seen, "Enzo");
    for part in ["You are Enzo", &record.reason, &record.context_summary, "order 1234"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// G21: the prompt of the agent that was tagged in has its own soul, and between the
/// marks the shared knowledge, the note and the reason; the history has the last 20
/// messages.
#[tokio::test]
async fn g21_the_prompt_of_the_target_has_soul_knowledge_note_reason_and_history() {
    let (scenario, seen) = scenario(SCRIPT).await;
    for n in 0..11 {
        scenario.say("rosa", &format!("question {n}")).await;
    }
    scenario.say("rosa", "my invoice").await;
    let asked = seen.last();
    assert_eq!(
        handoff_block(&asked.system),
        "--- HANDOFF CONTEXT ---\n\
         You were tagged in by a colleague.\n\
         You were tagged in because: invoice discrepancy\n\
         Context: Rosa paid 50 and expected 40\n\
         Suggested approach: compare it with order 1234\n\
         Note for you: she is in a hurry\n\
         Continue helping the customer seamlessly.\n\
         --- END HANDOFF CONTEXT ---"
    );
    assert!(asked.system.contains("I am Enzo."), "{}", asked.system);
    assert!(!asked.system.contains("I am Gia."), "{}", asked.system);
    let history: Vec<String> = asked.history.iter().map(item_text).collect();
    assert_eq!(history.len(), 21, "{history:?}");
    assert_eq!((&*history[0], &*history[20]), ("question 1", "my invoice"));
    let before = seen.all().into_iter().rev().find(|one| one.system.contains("You are Gia"));
    assert!(!before.unwrap().system.contains("HANDOFF"), "the first one is told nothing");
}

/// G23: of three agents each has only its own note in the prompt.
#[tokio::test]
async fn g23_a_handoff_note_is_only_in_the_prompt_of_its_agent() {
    let (scenario, seen) = scenario(SCRIPT).await;
    with_nina(&scenario).await;
    scenario.say("rosa", "my invoice").await;
    assert!(handoff_block(&last_prompt(&seen, "Enzo")).contains("Note for you: she is in a hurry"));
    scenario.advance(COOLDOWN);
    scenario.say("rosa", "the oven").await;
    let nina = last_prompt(&seen, "Nina");
    assert!(handoff_block(&nina).contains("Note for you: be quick"), "{nina}");
    assert!(!nina.contains("in a hurry"), "{nina}");
    scenario.advance(COOLDOWN);
    scenario.say("rosa", "my money").await;
    let enzo = last_prompt(&seen, "Enzo");
    assert!(handoff_block(&enzo).contains("Note for you: she is in a hurry"), "{enzo}");
    assert!(!enzo.contains("be quick"), "{enzo}");
    let notes = scenario.session("rosa").await.team.unwrap().shared.handoff_notes;
    assert_eq!(notes.keys().copied().collect::<Vec<_>>(), [ENZO, NINA]);
}

/// G24: every agent of a team has the current profile of the contact in its prompt.
#[tokio::test]
async fn g24_the_team_shares_the_customers_profile() {
    const WHO: &str = "rosa@example.com";
    let (scenario, seen) = scenario(SCRIPT).await;
    let rosa = Contact {
        id: ContactId::from_u128(5),
        name: "Rosa Bianchi".into(),
        details: ContactDetails { phone: None, email: Some(WHO.into()) },
        locale: Some("it-IT".into()),
        tags: ["vegan".to_owned()].into(),
        notes: Vec::new(),
        crm: None,
    };
    let stored = scenario.org().create_contact(rosa.clone()).await.unwrap();
    scenario.say(WHO, "my invoice").await;
    let enzo = last_prompt(&seen, "Enzo");
    let known = "Goal: ten euros back\nCustomer e-mail: rosa@example.com\n\
                 Customer language: it-IT\nCustomer name: Rosa Bianchi\nCustomer tags: vegan";
    assert!(enzo.contains(known), "{enzo}");
    scenario.advance(COOLDOWN);
    let renamed = Contact { name: "Rosa Verdi".into(), ..rosa };
    scenario.org().update_contact(stored.version, renamed).await.unwrap();
    scenario.say(WHO, "back please").await;
    assert_eq!(scenario.session(WHO).await.active_agent(), Some(GIA));
    let gia = last_prompt(&seen, "Gia");
    assert!(gia.contains("Customer name: Rosa Verdi") && gia.contains("Goal: ten"), "{gia}");
    let profile = scenario.session(WHO).await.team.unwrap().shared.customer_profile;
    assert_eq!(profile["e-mail"], WHO);
    // An unknown person has at most a name.
    scenario.say("otto", "my invoice").await;
    let profile = scenario.session("otto").await.team.unwrap().shared.customer_profile;
    assert_eq!(profile, [("name".to_owned(), "otto".to_owned())].into());
}

/// A model that answers other agents only when two of them ask at the same time.
struct ParallelModel {
    model: Arc<dyn Model>,
    both: Arc<Barrier>,
}

impl Model for ParallelModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let alone = request.system.contains("You are Gia");
        let (answer, both) = (self.model.answer(request), self.both.clone());
        async move {
            if !alone {
                both.wait().await;
            }
            answer
        }
        .flatten_stream()
        .boxed()
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

const CONSULTS: &str = "
price: { input: 0, output: 10 }
usage: { output: 1000 }
rules:
  - when: { user: both, agent: 'You are Gia' }
    answer:
      - calls:
          - { tool: tag_in_agent, with: { targetAgentId: enzo, reason: what is owed, consult: true } }
          - { tool: tag_in_agent, with: { targetAgentId: nina, reason: the oven, consult: true } }
      - 'I have asked: {{ result }}'
  - when: { agent: 'You are Enzo' }
    answer: Ten euros are owed.
  - when: { agent: 'You are Nina' }
    answer: A margherita is in the oven.
default: 'About {{ user }}: yes.'
";

/// Returns a session with Gia, Enzo and Nina.
async fn team_of_three(parallel: bool) -> (Scenario, ModelCalls) {
    let seen = ModelCalls::default();
    let both = Arc::new(Barrier::new(2));
    let model = Arc::new(ParallelModel { model: scripted(CONSULTS), both });
    let models = catalogue_of(vec![(
        "scripted",
        Arc::new(RecordingModel::new("scripted", model, seen.clone())) as Arc<dyn Model>,
    )]);
    let store = TestDatabase::sqlite_memory().migrated().await;
    let scenario = Scenario::with_replaced_tools(store, models, Settings::default(), Vec::new())
        .seed_lenient()
        .await;
    with_nina(&scenario).await;
    let team = TeamConfig { allow_parallel_execution: parallel, ..TeamConfig::default() };
    scenario.save_settings(&OrgSettings { team: Some(team), ..lenient_settings() }).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.assign(id, &["gia", "enzo", "nina"]).await.unwrap();
    scenario.work().await;
    (scenario, seen)
}

/// Returns the outcomes of the calls of the last run.
async fn last_results(scenario: &Scenario) -> Vec<(OutcomeStatus, String)> {
    let last = scenario.thread("rosa").await.pop().unwrap();
    let results = last.work.iter().filter_map(|item| match item {
        Item::Results { results } => Some(results),
        _ => None,
    });
    let each = results.flatten().map(|one| (one.outcome.status, one.outcome.content.clone()));
    each.collect()
}

/// G29: where the org allows it, two agents of a team work in parallel in one run. The
/// active agent stays the same, the others only read, and their spending is attributed to
/// them.
#[tokio::test]
async fn g29_agents_of_a_team_work_in_parallel_if_allowed() {
    let (scenario, seen) = team_of_three(true).await;
    let heard = tokio::time::timeout(Duration::from_secs(60), scenario.say("rosa", "both please"));
    let heard = heard.await.expect("both are asked at once");
    assert!(heard.len() == 1 && heard[0].starts_with("I have asked: "), "{heard:?}");
    let said = last_results(&scenario).await;
    assert_eq!((said[0].0, said[1].0), (OutcomeStatus::Ok, OutcomeStatus::Ok));
    assert!(said[0].1.starts_with("Ten euros are owed."), "{said:?}");
    assert!(said[1].1.starts_with("A margherita is in the oven."), "{said:?}");
    let runs = scenario.runs("rosa").await;
    // The runs of one millisecond have no order, and assigning agents is a run too.
    let run = runs.iter().max_by_key(|run| run.credits).unwrap();
    assert_eq!(run.turns.iter().map(|turn| turn.agent).collect::<Vec<_>>(), [GIA]);
    let team = scenario.session("rosa").await.team.unwrap();
    assert_eq!((team.active(), team.history().len()), (GIA, 0));
    let spent = &team.budget.per_agent;
    assert_eq!((spent[&ENZO].get(), spent[&NINA].get(), spent[&GIA].get()), (1, 1, 2));
    assert_eq!(run.credits.get(), 4);
    let enzo = seen.all().into_iter().find(|asked| asked.system.contains("You are Enzo")).unwrap();
    assert!(enzo.system.contains("I am Enzo."), "{}", enzo.system);
    assert_eq!(enzo.history.len(), 1, "the question and nothing else");
    assert!(enzo.offered.contains(&"list_products".to_owned()), "{:?}", enzo.offered);
    for writes in ["create_booking", "tag_in_agent", "escalate_to_human"] {
        assert!(!enzo.offered.contains(&writes.to_owned()), "{writes}");
    }
}

/// S01: what is refused to a consulted colleague is in the audit log as theirs.
#[tokio::test]
async fn s01_what_is_refused_to_a_consulted_colleague_is_audited() {
    let script = "
rules:
  - when: { user: owed, agent: 'You are Gia' }
    answer:
      - call: tag_in_agent
        with: { targetAgentId: enzo, reason: what is owed, consult: true }
      - 'I have asked.'
  - when: { agent: 'You are Enzo' }
    answer:
      - calls:
          - { tool: get_order, with: { order: A99 } }
          - { tool: delete_contact, with: { contact_id: con_1 } }
      - 'I find nothing.'
default: 'I see.'
";
    let (scenario, _) = scenario(script).await;
    let team = TeamConfig { allow_parallel_execution: true, ..TeamConfig::default() };
    scenario.save_settings(&OrgSettings { team: Some(team), ..lenient_settings() }).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    operations.as_actor(Actor::Terminal, ORG).assign(id, &["gia", "enzo"]).await.unwrap();
    scenario.work().await;
    assert_eq!(scenario.say("rosa", "what is owed?").await, ["I have asked."]);
    let log = scenario.org().audit_entries(None, None, 100).await.unwrap();
    let refused = log.iter().filter(|one| one.entry.action == REFUSED);
    let refused: Vec<_> =
        refused.map(|one| (one.entry.actor, one.entry.subject.as_str())).collect();
    assert_eq!(refused, [(AuditActor::Agent(ENZO), "A99")]);
}

/// G29: by default only the active agent works.
#[tokio::test]
async fn g29_by_default_no_agent_works_in_parallel() {
    let (scenario, seen) = team_of_three(false).await;
    scenario.say("rosa", "both please").await;
    let said = last_results(&scenario).await;
    let refused = "agents here work one at a time; hand the conversation over instead";
    assert_eq!(
        said,
        [(OutcomeStatus::Failed, refused.to_owned()), (OutcomeStatus::Failed, refused.to_owned())]
    );
    assert!(seen.all().iter().all(|asked| asked.system.contains("You are Gia")));
}

/// G12: after a turn that spent the session's last credit, the colleague gets nothing to
/// answer with: the handoff is refused, the session keeps its agent, and a person is asked.
#[tokio::test]
async fn g12_a_handoff_without_credits_for_the_colleague_changes_nothing() {
    let (scenario, _) = scenario(SCRIPT).await;
    let mut settings = lenient_settings();
    settings.session_budget.cap = Credits::new(1);
    settings.session_budget.warning = Credits::new(1);
    scenario.save_settings(&settings).await;
    scenario.say("rosa", "my invoice is wrong").await;
    let session = scenario.session("rosa").await;
    assert_eq!((session.agent, session.team), (Some(GIA), None));
    let outcome = scenario.runs("rosa").await.pop().unwrap().outcome;
    assert!(matches!(outcome, RunOutcome::Failed { .. }), "{outcome:?}");
    assert_eq!(session.status, SessionStatus::HandedOff);
}
