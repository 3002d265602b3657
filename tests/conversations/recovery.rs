//! A worker dies during an external call; another continues the run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::session::guided::{
    InterviewCompletion, InterviewPhase, InterviewQuestion, InterviewTemplate,
};
use ostler_domain::session::lifetime::{ClosePolicy, ReopenPolicy};
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::gate::Authorized;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_runtime::deps::Settings;
use tokio::sync::Notify;

use crate::support::{
    ENZO, GIA, ModelCalls, ORG, Scenario, lenient_settings, retry_at_once, scenario_with, text_of,
};

/// A tool that never returns.
struct EndlessTool {
    definition: ToolDefinition,
    begun: Arc<Notify>,
}

impl Tool for EndlessTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        self.begun.notify_one();
        std::future::pending().boxed()
    }
}

fn endless(begun: &Arc<Notify>) -> Arc<dyn Tool> {
    let spec = built_in().into_iter().find(|spec| spec.name.as_str() == "send_email");
    let spec = spec.unwrap().for_customers().external();
    let schema = serde_json::json!({"type": "object"});
    let mut definition = ToolDefinition::new(spec, "Sends a mail.", schema);
    // The lease outlasts the call, and the test waits for the lease.
    definition.timeout = Duration::from_millis(500);
    Arc::new(EndlessTool { definition, begun: begun.clone() })
}

const SCRIPT: &str = "
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      text: One moment.
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: an invoice }
  - when: { agent: 'You are Enzo' }
    answer:
      - { call: send_email }
      - I cannot say whether the mail went out.
";

/// Stops a worker while it sends the e-mail.
pub(crate) async fn die_during_the_call(scenario: &Scenario, begun: &Notify) {
    let worker = scenario.worker.clone();
    let dies = tokio::spawn(async move { worker.answer_next().await });
    begun.notified().await;
    dies.abort();
    let _gone = dies.await;
}

/// Lets another worker continue after the lease has expired.
pub(crate) async fn continue_after_the_lease(scenario: &Scenario) {
    let answered = async {
        while !scenario.worker.answer_next().await.unwrap() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), answered).await.expect("the lease ends");
}

/// Returns a scenario in which an e-mail is never sent to its end.
pub(crate) async fn interrupted_scenario(begun: &Arc<Notify>) -> (Scenario, ModelCalls) {
    let mut settings: Settings = retry_at_once();
    settings.claims.lease = Duration::from_millis(200);
    let (scenario, seen) = scenario_with(SCRIPT, vec![endless(begun)], settings).await;
    scenario.change_agent(ENZO, |enzo| enzo.autonomy = AutonomyLevel::Autonomous).await;
    (scenario, seen)
}

/// Z01, Z04: the finished turn of the first agent is committed together with the
/// interrupted one of the second: messages and costs of both. The e-mail is not sent
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn z04_a_run_of_two_agents_is_continued_by_another_worker() {
    let begun = Arc::new(Notify::new());
    let (scenario, seen) = interrupted_scenario(&begun).await;
    let funds = scenario.org().credit_account().await.unwrap().available().unwrap();
    scenario.write("rosa", "my invoice").await;
    die_during_the_call(&scenario, &begun).await;
    let asked = seen.count();
    continue_after_the_lease(&scenario).await;
    let heard: Vec<String> = scenario.deliver().await.iter().map(text_of).collect();
    assert_eq!(heard, ["One moment.", "I cannot say whether the mail went out."]);
    assert_eq!(seen.count(), asked + 1, "no model is asked twice for the same");
    let runs = scenario.runs("rosa").await;
    let agents: Vec<_> = runs[0].turns.iter().map(|turn| turn.agent).collect();
    assert_eq!((runs.len(), agents), (1, vec![GIA, ENZO]));
    let session = scenario.session("rosa").await;
    assert_eq!((session.active_agent(), session.unknown_outcomes), (Some(ENZO), 1));
    assert_eq!(session.messages, 3, "each is counted once");
    scenario.org().apply_settlements().await.unwrap();
    let left = scenario.org().credit_account().await.unwrap().available().unwrap();
    assert!(runs[0].credits.get() >= 3, "two answers and a mail: {}", runs[0].credits);
    assert_eq!(left + runs[0].credits, funds, "what both cost is paid, and nothing is held");
}

const GUIDED: &str = "
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { agent: 'You read answers' }
    answer: '{\"answer\": \"four\", \"confidence\": 95}'
  - when: { user: The conversation is over }
    answer: A table for Rosa.
  - when: { user: four }
    answer:
      - { call: send_email }
      - I cannot say whether the mail went out.
default: For how many people?
";

/// A scenario in which mail never ends, and a table is asked for.
async fn guided(begun: &Arc<Notify>) -> (Scenario, ModelCalls) {
    let mut settings: Settings = retry_at_once();
    settings.claims.lease = Duration::from_millis(200);
    let (scenario, seen) = scenario_with(GUIDED, vec![endless(begun)], settings).await;
    // Mail is nothing for those who talk to end customers.
    scenario
        .change_agent(GIA, |gia| {
            gia.autonomy = AutonomyLevel::Autonomous;
            gia.subtype = Subtype::from("booking_specialist");
        })
        .await;
    let questions = vec![InterviewQuestion {
        field: "people".into(),
        ask: "For how many?".into(),
        required: true,
    }];
    let phases = vec![InterviewPhase { name: "booking".into(), questions }];
    let template = InterviewTemplate { phases, completion: InterviewCompletion::AllAsked };
    let interviews = [(Channel::Webchat, template)].into();
    let (close, reopen) = (ClosePolicy::SummarizeAndArchive, ReopenPolicy::Resume);
    scenario.save_settings(&OrgSettings { interviews, close, reopen, ..lenient_settings() }).await;
    scenario.say("rosa", "a table please").await;
    (scenario, seen)
}

/// Z04, E08: the extraction of interview answers beside an interrupted turn is asked for
/// once, and its cost is charged.
#[tokio::test(flavor = "multi_thread")]
async fn z04_interview_extraction_is_not_repeated_by_another_worker() {
    let begun = Arc::new(Notify::new());
    let (scenario, seen) = guided(&begun).await;
    scenario.write("rosa", "four").await;
    die_during_the_call(&scenario, &begun).await;
    let asked = seen.count();
    continue_after_the_lease(&scenario).await;
    assert_eq!(seen.count(), asked + 1, "no model is asked twice for the same");
    let run = scenario.runs("rosa").await.pop().unwrap();
    assert_eq!((run.turns.len(), run.side_turns.len()), (1, 1));
    assert_eq!(run.side_turns[0].spent["interview"].credits.get(), 1);
    let session = scenario.session("rosa").await;
    assert_eq!(session.interview.as_ref().unwrap().state.fields()["people"], "four");
    let paid: u64 = scenario.runs("rosa").await.iter().map(|run| run.credits.get()).sum();
    assert_eq!(session.budget.spent.get(), paid);
    assert_eq!(scenario.spent(ORG).await, paid);
    let completed = scenario.events().await.into_iter().filter(|one| one == "interview_completed");
    assert_eq!(completed.count(), 1);
}

/// Z04, F05: the previous session is summarised once, although the run that does so is
/// interrupted later.
#[tokio::test(flavor = "multi_thread")]
async fn z04_a_session_summary_is_not_repeated_by_another_worker() {
    let begun = Arc::new(Notify::new());
    let (scenario, seen) = guided(&begun).await;
    scenario.say("rosa", "hello?").await;
    let (first, before) = (scenario.session("rosa").await, scenario.spent(ORG).await);
    scenario.advance(Duration::from_secs(3600));
    scenario.write("rosa", "four").await;
    die_during_the_call(&scenario, &begun).await;
    let asked = seen.count();
    continue_after_the_lease(&scenario).await;
    assert_eq!(seen.count(), asked + 1, "it is summed up once");
    let run = scenario.runs("rosa").await.pop().unwrap();
    assert_eq!(run.side_turns.len(), 1);
    assert_eq!(run.side_turns[0].spent["summary"].credits.get(), 1);
    let session = scenario.session("rosa").await;
    assert_ne!(session.id, first.id);
    let previous = session.previous.unwrap();
    let said = previous.summary.as_deref();
    assert_eq!((previous.session, said), (first.id, Some("A table for Rosa.")));
    let old = scenario.sessions().await.into_iter().find(|one| one.id == first.id).unwrap();
    assert_eq!(old.summary.as_deref(), Some("A table for Rosa."));
    assert_eq!(old.budget.spent.get(), first.budget.spent.get() + 1);
    assert_eq!(scenario.spent(ORG).await, before + run.credits.get());
    let closed = scenario.events().await.into_iter().filter(|one| one == "session_closed");
    assert_eq!(closed.count(), 1);
}
