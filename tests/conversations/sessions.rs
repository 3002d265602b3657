//! Sessions: timeouts, summaries and interviews.

use std::time::Duration;

use ostler_domain::channel::Channel;
use ostler_domain::id::BindingId;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::session::guided::{
    InterviewCompletion, InterviewPhase, InterviewQuestion, InterviewTemplate,
};
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::session::lifetime::{ClosePolicy, CloseReason, ReopenPolicy};
use ostler_domain::session::status::SessionStatus;
use ostler_domain::tool::ToolName;
use ostler_runtime::operations::Actor;
use ostler_runtime::records::session::Session;

use crate::support::{GIA, ModelCalls, ORG, Scenario, item_text, lenient_settings, scenario};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn closed(session: &Session) -> Option<CloseReason> {
    match session.status {
        SessionStatus::Closed(reason) => Some(reason),
        SessionStatus::Active | SessionStatus::HandedOff => None,
    }
}

/// F01, A11: after the idle timeout of its channel the next message closes a session and
/// opens another in the same run.
#[tokio::test]
async fn f01_a11_the_idle_timeout_of_the_channel_ends_a_session() {
    let (scenario, _) = scenario("default: I see.").await;
    let channels = [
        (Channel::Webchat, 30 * MINUTE),
        (Channel::Sms, HOUR),
        (Channel::Telegram, 24 * HOUR),
        (Channel::Email, 72 * HOUR),
    ];
    for (n, (channel, idle)) in channels.into_iter().enumerate() {
        let binding = BindingId::from_u128(0x100 + n as u128);
        scenario.bind(binding, channel, GIA).await;
        let who = format!("rosa{n}");
        let key = scenario.key_on(binding, &who, ConversationEntry::Customer);
        scenario.say_in(&key, "hello").await;
        let first = scenario.session(&who).await;
        scenario.advance(idle - MINUTE);
        scenario.say_in(&key, "still there").await;
        assert_eq!(scenario.session(&who).await.id, first.id);
        scenario.advance(idle + MINUTE);
        assert_eq!(scenario.say_in(&key, "back again").await, ["I see."]);
        let sessions = scenario.sessions().await;
        let mine: Vec<&Session> = sessions.iter().filter(|one| one.peer == key.peer).collect();
        assert_eq!(mine.len(), 2);
        assert_ne!(mine[0].id, first.id);
        assert_eq!(closed(mine[0]), None);
        assert_eq!((mine[1].id, closed(mine[1])), (first.id, Some(CloseReason::IdleTimeout)));
        assert_eq!(
            scenario.runs(&who).await.len(),
            1,
            "one run closed the one and opened the other"
        );
    }
}

/// F01: the idle clock pauses while an approval is pending or a person has taken over.
#[tokio::test]
async fn f01_the_idle_clock_pauses_during_approvals_and_takeovers() {
    let script = "
rules:
  - when: { user: book }
    answer:
      - { call: create_contact, with: { name: Rosa } }
      - A colleague is looking at it.
default: I see.
";
    let (scenario, _) = scenario(script).await;
    scenario.say("rosa", "book").await;
    scenario.say("otto", "I want to talk to a human").await;
    let (rosa, otto) = (scenario.session("rosa").await.id, scenario.session("otto").await.id);
    scenario.advance(10 * HOUR);
    scenario.sweep().await;
    scenario.say("rosa", "any news?").await;
    scenario.say("otto", "hello?").await;
    assert_eq!(
        (scenario.session("rosa").await.id, scenario.session("otto").await.id),
        (rosa, otto)
    );
}

/// F02: a session expires at its maximum age although it is active; this is the close
/// reason when both apply.
#[tokio::test]
async fn f02_an_active_session_expires_at_its_maximum_age() {
    let (scenario, _) = scenario("default: I see.").await;
    scenario.say("rosa", "hello").await;
    let first = scenario.session("rosa").await.id;
    for n in 0..6 {
        scenario.advance(20 * MINUTE);
        scenario.say("rosa", &format!("still {n}")).await;
        assert_eq!(scenario.session("rosa").await.id, first);
    }
    scenario.advance(MINUTE);
    scenario.say("rosa", "one more").await;
    assert_eq!(closed(&scenario.sessions().await[1]), Some(CloseReason::Expired));
    scenario.advance(48 * HOUR);
    scenario.say("rosa", "days later").await;
    assert_eq!(closed(&scenario.sessions().await[1]), Some(CloseReason::Expired));
}

const SUMMING: &str = "
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { agent: 'You write the note' }
    answer: Rosa wants a table for four.
default: I see.
";

fn settings_with_summary(reopen: ReopenPolicy) -> OrgSettings {
    OrgSettings { reopen, close: ClosePolicy::SummarizeAndArchive, ..lenient_settings() }
}

/// F05, Z12: a session of more than two messages is summarised when it closes; the tokens
/// are charged and recorded in the run.
#[tokio::test]
async fn f05_z12_a_summary_is_stored_charged_and_attributed() {
    let (scenario, seen) = scenario(SUMMING).await;
    scenario.save_settings(&settings_with_summary(ReopenPolicy::NewSession)).await;
    scenario.say("rosa", "a table").await;
    scenario.say("rosa", "for four").await;
    scenario.say("otto", "hello").await;
    let before = scenario.spent(ORG).await;
    scenario.advance(31 * MINUTE);
    scenario.sweep().await;
    let rosa = scenario.session("rosa").await;
    assert_eq!(closed(&rosa), Some(CloseReason::IdleTimeout));
    assert_eq!(rosa.summary.as_deref(), Some("Rosa wants a table for four."));
    assert_eq!(scenario.session("otto").await.summary, None, "two messages are not many");
    let asked = seen.last();
    assert!(asked.offered.is_empty());
    let read: Vec<String> = asked.history.iter().map(item_text).collect();
    assert_eq!(read[..4], ["a table", "I see.", "for four", "I see."]);
    let run = scenario.runs("rosa").await.pop().unwrap();
    assert!(run.turns.is_empty());
    assert_eq!(run.side_turns[0].agent, GIA);
    let spent = &run.side_turns[0].spent["summary"];
    assert_eq!((spent.usage.output, spent.credits.get(), run.credits.get()), (10, 1, 1));
    assert_eq!(scenario.spent(ORG).await, before + 1);
    assert_eq!(rosa.budget.spent.get(), 3);
}

/// F05: if the summary fails, the first and the last messages are stored instead, and the
/// session is closed.
#[tokio::test]
async fn f05_a_session_closes_although_its_summary_fails() {
    let script = "
rules:
  - when: { agent: 'You write the note' }
    answer: { fail: 400 }
default: I see.
";
    let (scenario, _) = scenario(script).await;
    scenario.save_settings(&settings_with_summary(ReopenPolicy::NewSession)).await;
    scenario.say("rosa", "a table").await;
    scenario.say("rosa", "for four").await;
    scenario.advance(31 * MINUTE);
    assert_eq!(scenario.say("rosa", "hello again").await, ["I see."]);
    let old = scenario.sessions().await.remove(1);
    assert_eq!(closed(&old), Some(CloseReason::IdleTimeout));
    let expected = "They began with: \"a table\"\nThey wrote last: \"for four\"\n\
        The last reply was: \"I see.\"";
    assert_eq!(old.summary.as_deref(), Some(expected));
}

/// F04: with `resume` a new session has the last one and its summary in the prompt;
/// otherwise it has nothing of it.
#[tokio::test]
async fn f04_with_resume_a_new_session_knows_the_last_one() {
    for (reopen, knows) in [(ReopenPolicy::Resume, true), (ReopenPolicy::NewSession, false)] {
        let (scenario, seen) = scenario(SUMMING).await;
        scenario.save_settings(&settings_with_summary(reopen)).await;
        scenario.say("rosa", "a table").await;
        scenario.say("rosa", "for four").await;
        let old = scenario.session("rosa").await.id;
        scenario.advance(31 * MINUTE);
        scenario.say("rosa", "hello again").await;
        let new = scenario.session("rosa").await;
        let previous = new.previous.as_ref().map(|one| (one.session, one.summary.as_deref()));
        let expected = knows.then_some((old, Some("Rosa wants a table for four.")));
        assert_eq!(previous, expected);
        let system = seen.last().system;
        assert_eq!(system.contains("Rosa wants a table for four."), knows, "{system}");
        scenario.say("rosa", "thanks").await;
        assert_eq!(seen.last().system.contains("Rosa wants a table"), knows, "in later turns too");
        // The same for a session that the sweep closed.
        scenario.advance(31 * MINUTE);
        scenario.sweep().await;
        scenario.say("rosa", "me again").await;
        assert_eq!(seen.last().system.contains("Rosa wants a table"), knows);
    }
}

/// F05: a session that an operator closes is summarised soon after.
#[tokio::test]
async fn f05_a_session_closed_by_an_operator_is_summarised() {
    let (scenario, _) = scenario(SUMMING).await;
    scenario.save_settings(&settings_with_summary(ReopenPolicy::NewSession)).await;
    scenario.say("rosa", "a table").await;
    scenario.say("rosa", "for four").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    operations.as_actor(Actor::Terminal, ORG).close(id).await.unwrap();
    scenario.work().await;
    let session = scenario.session("rosa").await;
    assert_eq!(closed(&session), Some(CloseReason::ClosedByOperator));
    assert_eq!(session.summary.as_deref(), Some("Rosa wants a table for four."));
    assert!(scenario.deliver().await.len() <= 2, "nothing was said because of it");
}

fn question(field: &str, ask: &str, required: bool) -> InterviewQuestion {
    InterviewQuestion { field: field.into(), ask: ask.into(), required }
}

fn interview(completion: InterviewCompletion) -> InterviewTemplate {
    let questions = vec![
        question("people", "For how many people?", true),
        question("when", "When will you come?", true),
        question("team_requests", "Any team_requests?", false),
    ];
    InterviewTemplate {
        phases: vec![InterviewPhase { name: "booking".into(), questions }],
        completion,
    }
}

const GUIDED: &str = "
rules:
  - when: { agent: 'You read answers', user: { regex: 'sure (?<value>\\w+)' } }
    answer: '{\"answer\": \"{{ value }}\", \"confidence\": 95}'
  - when: { agent: 'You read answers', user: { regex: 'maybe (?<value>\\w+)' } }
    answer: '{\"answer\": \"{{ value }}\", \"confidence\": 40}'
  - when: { agent: 'You read answers', user: rather not }
    answer: '{\"declined\": true}'
  - when: { agent: 'You read answers' }
    answer: '{}'
default: 'About {{ user }}: noted.'
";

/// Returns the interview part of the last prompt.
fn interview_prompt(seen: &ModelCalls) -> String {
    let system = seen.last().system;
    let lines = system.lines().filter(|line| {
        ["Ask next", "Their answer was not", "All is answered"]
            .iter()
            .any(|begin| line.starts_with(begin))
    });
    lines.collect::<Vec<_>>().join("|")
}

async fn guided(completion: InterviewCompletion) -> (Scenario, ModelCalls) {
    let (scenario, seen) = scenario(GUIDED).await;
    let interviews = [(Channel::Webchat, interview(completion))].into();
    scenario.save_settings(&OrgSettings { interviews, ..lenient_settings() }).await;
    (scenario, seen)
}

/// F08, A22, Z12: a question is asked until it is answered; an uncertain answer is asked
/// about at most twice. Fields are stored in the session, and the interview is complete
/// when all questions were asked.
#[tokio::test]
async fn f08_a22_an_interview_asks_until_all_fields_are_known() {
    let (scenario, seen) = guided(InterviewCompletion::AllAsked).await;
    let first = "Ask next, in your own words: For how many people?";
    let again = "Their answer was not clear. Ask again, more closely: For how many people?";
    let check = async |text: &str, expected: &str| {
        assert_eq!(scenario.say("rosa", text).await.len(), 1);
        assert_eq!(interview_prompt(&seen), expected, "after {text}");
    };
    check("hello", first).await;
    assert_eq!(seen.count(), 1, "nothing was asked yet, so nothing is read");
    check("what is on the menu?", first).await;
    check("maybe three", again).await;
    check("maybe four", again).await;
    check("maybe five", "Ask next, in your own words: When will you come?").await;
    check("rather not", "Ask next, in your own words: When will you come?").await;
    check("sure tonight", "Ask next, in your own words: Any team_requests?").await;
    check(
        "rather not",
        "All is answered. Thank them and sum it up; if they go on, just help them.",
    )
    .await;
    let session = scenario.session("rosa").await;
    let fields: Vec<(&str, &str)> = session
        .interview
        .as_ref()
        .unwrap()
        .state
        .fields()
        .iter()
        .map(|(field, value)| (field.as_str(), value.as_str()))
        .collect();
    assert_eq!(fields, [("people", "five"), ("when", "tonight")]);
    let harness = serde_json::to_value(scenario.harness("rosa").await).unwrap();
    assert_eq!(harness["session_context"]["session_mode"], "guided");
    let run = scenario.runs("rosa").await.pop().unwrap();
    assert_eq!(run.side_turns[0].spent["interview"].credits.get(), 1);
    assert_eq!(run.credits.get(), 2);
    // A complete interview extracts nothing more.
    let before = seen.count();
    scenario.say("rosa", "thanks").await;
    assert_eq!(seen.count(), before + 1);
    scenario.advance(31 * MINUTE);
    scenario.sweep().await;
    assert_eq!(closed(&scenario.session("rosa").await), Some(CloseReason::Completed));
}

/// F08: an interview can be complete when the required fields are known.
#[tokio::test]
async fn f08_an_interview_can_end_with_the_required_fields() {
    let (scenario, seen) = guided(InterviewCompletion::RequiredFilled).await;
    scenario.say("rosa", "hello").await;
    scenario.say("rosa", "sure four").await;
    scenario.say("rosa", "sure tonight").await;
    assert!(interview_prompt(&seen).starts_with("All is answered"), "{}", interview_prompt(&seen));
}

/// A22: a session without an interview has none in its prompt and stores no fields.
#[tokio::test]
async fn a22_a_freeform_session_has_no_interview() {
    let (scenario, seen) = scenario(GUIDED).await;
    scenario.say("rosa", "hello").await;
    scenario.say("rosa", "sure four").await;
    assert_eq!((interview_prompt(&seen), seen.count()), (String::new(), 2));
    assert_eq!(scenario.session("rosa").await.interview, None);
    let tools = scenario.harness("rosa").await.tool_scope.active_tools;
    assert!(tools.contains(&ToolName::from_static("list_events")));
}
