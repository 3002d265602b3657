//! Takeovers.

use std::time::Duration;

use ostler_domain::human::escalation::{EscalationError, EscalationStatus};
use ostler_domain::message::MessagePart;
use ostler_domain::org::role::Role;
use ostler_domain::session::key::Peer;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::config::TeamConfig;
use ostler_runtime::operations::{Actor, OperationError};
use ostler_runtime::records::message::MessageAuthor;
use ostler_runtime::records::run::{RunOutcome, TurnRecord};

use crate::support::{ECHO, ENZO, GIA, ORG, OWNER, Scenario, text_of};

const RESUMES: &str = "
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: invoice, contextSummary: about an invoice }
  - when: { user: refund }
    answer:
      call: escalate_to_human
      with: { reason: a refund, urgency: normal, contextSummary: Rosa paid twice }
  - when: { agent: { regex: 'You are Gia[\\s\\S]*ten euros are on their way' } }
    answer: As my colleague said, ten euros are coming.
default: 'About {{ user }}: yes.'
";

fn words(text: &str) -> Vec<MessagePart> {
    vec![MessagePart::text(text)]
}

/// G40, G41, G42, F07: a person takes over and writes. The customer gets the text
/// unchanged, and messages of the customer join the same session without a model call.
#[tokio::test]
async fn human_takeover() {
    let scenario = Scenario::new(RESUMES).await;
    scenario.add_member(OWNER, Role::Owner).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::User(OWNER), ORG);
    scenario.say("rosa", "I want a refund").await;
    let id = scenario.session("rosa").await.id;
    operator.take_over(id).await.unwrap();
    let session = scenario.session("rosa").await;
    let view = session.team_view().unwrap();
    assert_eq!(view.human_agent_user_id, Some(OWNER));
    assert!(view.human_takeover_at.is_some());

    let text = "  **Rosa**, I'll see to it: 5 * 2 = <10>_  ";
    operator.say(id, words(text)).await.unwrap();
    let sent = scenario.deliver().await;
    assert_eq!(sent.iter().map(text_of).collect::<Vec<_>>(), [text]);
    assert_eq!(sent[0].to, Peer::Person("rosa".into()));
    let last = scenario.thread("rosa").await.pop().unwrap();
    assert_eq!((last.author, last.parts), (MessageAuthor::Human { user: OWNER }, words(text)));

    assert_eq!(scenario.say("rosa", "thank you so much").await, [""; 0]);
    assert_eq!(scenario.session("rosa").await.id, id);
    let run = scenario.runs("rosa").await.pop().unwrap();
    assert_eq!((run.outcome, run.turns.len()), (RunOutcome::WithHuman, 0));
    let last = scenario.thread("rosa").await.pop().unwrap();
    assert_eq!(last.text(), "thank you so much");
}

/// G46, G45: a person hands back. The escalation is cleared, the session is active with
/// its first agent, the messages of the person are in the next prompt, and the agent
/// answers the next message.
#[tokio::test]
async fn human_resume() {
    let scenario = Scenario::new(RESUMES).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    scenario.say("rosa", "my invoice").await;
    assert_eq!(scenario.session("rosa").await.active_agent(), Some(ENZO));
    scenario.say("rosa", "I want a refund").await;
    let id = scenario.session("rosa").await.id;
    operator.take_over(id).await.unwrap();
    operator.say(id, words("ten euros are on their way")).await.unwrap();
    scenario.deliver().await;
    operator.resume_with(id, Some(" It is refunded by hand. ")).await.unwrap();
    let session = scenario.session("rosa").await;
    assert!(!session.team_view().unwrap().human_escalation_requested);
    assert_eq!(session.status, SessionStatus::Active);
    assert_eq!(session.active_agent(), Some(GIA));
    let resolution = session.resolution.as_ref().unwrap();
    assert!(resolution.contains("ten euros are on their way"));
    assert!(resolution.ends_with("They add for you: It is refunded by hand."), "{resolution}");
    let expected = ["As my colleague said, ten euros are coming."];
    assert_eq!(scenario.say("rosa", "when?").await, expected);
    // The resolution is in one prompt only.
    assert_eq!(scenario.session("rosa").await.resolution, None);
    let statuses = operator.resume(id).await;
    assert!(matches!(statuses, Err(OperationError::Escalation(EscalationError::NotOpen))));
}

/// G46: what the customer wrote during a takeover and the person left unanswered is answered when
/// the conversation is handed back; what had been said before the takeover is not.
#[tokio::test]
async fn g46_the_agent_answers_what_came_during_a_takeover() {
    let scenario = Scenario::new(RESUMES).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    for (person, writes, answers) in
        [("rosa", Some("is it open on Sunday?"), true), ("otto", None, false)]
    {
        scenario.say(person, "I want a refund").await;
        let id = scenario.session(person).await.id;
        scenario.advance(Duration::from_secs(1));
        operator.take_over(id).await.unwrap();
        if let Some(text) = writes {
            assert_eq!(scenario.say(person, text).await, [""; 0]);
        }
        operator.resume(id).await.unwrap();
        scenario.work().await;
        let sent: Vec<_> = scenario.deliver().await.iter().map(text_of).collect();
        let about = sent.iter().any(|text| text.starts_with("About is it open on Sunday?"));
        assert_eq!((sent.len(), about), (usize::from(answers), answers), "{person}: {sent:?}");
    }
}

/// U03, G46: what a person settled elsewhere is told to the agent when the session is handed back,
/// and is in the audit log.
#[tokio::test]
async fn u03_g46_the_agent_reads_what_was_settled() {
    let scenario = Scenario::new(RESUMES).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    scenario.say("rosa", "my invoice").await;
    let id = scenario.session("rosa").await.id;
    operator.take_over(id).await.unwrap();
    let long = "x".repeat(4_001);
    let refused = operator.resume_with(id, Some(&long)).await.unwrap_err();
    assert!(matches!(refused, OperationError::TooLong { .. }), "{refused}");
    operator.resume_with(id, Some("  She called: ten euros are on their way. ")).await.unwrap();
    let told = scenario.session("rosa").await.resolution.unwrap();
    assert!(told.ends_with("They add for you: She called: ten euros are on their way."), "{told}");
    let audit = scenario.org().audit_entries(Some(&id.to_string()), None, 1).await.unwrap();
    assert!(audit[0].entry.data.contains("ten euros"), "{audit:?}");
}

/// G43: messages of the customer during a takeover are forwarded to the team group, if it
/// is enabled.
#[tokio::test]
async fn g43_customer_messages_during_takeover_are_forwarded_to_the_team_group() {
    for enabled in [true, false] {
        let scenario = Scenario::new(ECHO).await;
        let team = TeamConfig { team_group_enabled: enabled, ..TeamConfig::default() };
        scenario.set_notify_addresses(team).await;
        scenario.say("rosa", "hello").await;
        let id = scenario.session("rosa").await.id;
        scenario.operations().as_actor(Actor::Terminal, ORG).take_over(id).await.unwrap();
        scenario.write("rosa", "are you there?").await;
        scenario.work().await;
        let sent = scenario.deliver().await;
        let group: Vec<_> =
            sent.iter().filter(|one| one.to == Peer::Group("-500".into())).map(text_of).collect();
        let expected: &[&str] = if enabled { &["rosa: are you there?"] } else { &[] };
        assert_eq!(group, expected);
    }
}

/// G44, F06: without an escalation nobody can write, hand back or dismiss, and a closed
/// session cannot be changed.
#[tokio::test]
async fn g44_f06_operations_that_the_status_does_not_allow_are_refused() {
    let scenario = Scenario::new(ECHO).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    scenario.say("rosa", "hello").await;
    let before = scenario.session("rosa").await;
    let id = before.id;
    let not_open = |result: Result<_, OperationError>| {
        matches!(result, Err(OperationError::Escalation(EscalationError::NotOpen)))
    };
    assert!(not_open(operator.say(id, words("hi")).await));
    assert!(not_open(operator.resume(id).await));
    assert!(not_open(operator.dismiss(id).await));
    assert_eq!(scenario.session("rosa").await, before);

    operator.take_over(id).await.unwrap();
    let taken = operator.dismiss(id).await;
    assert!(matches!(taken, Err(OperationError::Escalation(EscalationError::TakenOver))));
    let closed = operator.close(id).await.unwrap();
    assert_eq!(closed.status, SessionStatus::Closed(CloseReason::ClosedByOperator));
    let refused = operator.take_over(id).await.unwrap_err().to_string();
    assert_eq!(refused, "this session is closed");
    assert!(matches!(operator.close(id).await, Err(OperationError::Status(_))));
    scenario.say("rosa", "hello again").await;
    assert_ne!(scenario.session("rosa").await.id, id);
}

/// G47: a dismissed escalation is recorded as a false positive, and the agent answers the
/// message.
#[tokio::test]
async fn g47_a_dismissed_escalation_is_answered_by_the_agent() {
    let scenario = Scenario::new(ECHO).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    scenario.say("rosa", "Can I talk to a human?").await;
    let id = scenario.session("rosa").await.id;
    operator.dismiss(id).await.unwrap();
    scenario.work().await;
    let sent = scenario.deliver().await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    let session = scenario.session("rosa").await;
    assert_eq!(session.status, SessionStatus::Active);
    assert_eq!(session.escalation.unwrap().state.status, EscalationStatus::Dismissed);
    assert!(scenario.events().await.contains(&"false_positive".to_owned()));
    let audit = scenario.org().audit_entries(Some(&id.to_string()), None, 10).await.unwrap();
    assert_eq!(audit[0].entry.action, "dismiss_escalation");
    assert!(audit[0].entry.data.contains("\"false_positive\":true"));
    // The dismissed message does not escalate again.
    assert_eq!(scenario.say("rosa", "and the menu").await.len(), 1);
}

/// G40: a second takeover is refused, with the name of the person who has taken over.
#[tokio::test]
async fn g40_a_second_takeover_is_refused_with_the_name_of_the_first() {
    let scenario = Scenario::new(ECHO).await;
    scenario.add_member(OWNER, Role::Owner).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    operations.as_actor(Actor::User(OWNER), ORG).take_over(id).await.unwrap();
    let other = operations.as_actor(Actor::Terminal, ORG);
    let refused = other.take_over(id).await.unwrap_err();
    assert_eq!(refused.to_string(), "Somebody has taken this conversation over");
    assert!(other.say(id, words("hi")).await.is_err());
}

/// F07, F01: a session does not time out during a takeover, and the clocks continue from
/// where they stood.
#[tokio::test]
async fn f07_a_session_does_not_time_out_during_a_takeover() {
    let scenario = Scenario::new(ECHO).await;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    operator.take_over(id).await.unwrap();
    scenario.advance(Duration::from_secs(30 * 24 * 3600));
    assert_eq!(scenario.sweep().await.sessions, 0);
    scenario.say("rosa", "still there?").await;
    assert_eq!(scenario.session("rosa").await.id, id);
    operator.resume(id).await.unwrap();
    scenario.work().await;
    scenario.advance(Duration::from_secs(29 * 60));
    scenario.sweep().await;
    assert_eq!(scenario.session("rosa").await.status, SessionStatus::Active);
    scenario.advance(Duration::from_secs(2 * 60));
    scenario.sweep().await;
    let ended = SessionStatus::Closed(CloseReason::IdleTimeout);
    assert_eq!(scenario.session("rosa").await.status, ended);
}

const SLOW: &str = "
price: { input: 0, output: 1000 }
usage: { output: 30 }
rules:
  - when: { user: forms }
    answer:
      - { call: list_forms }
      - { text: There are none., delay: 600s }
default: 'About {{ user }}: yes.'
";

/// E08, E10, G40: a person takes over during a turn. The cost of the turn counts for the
/// session and the team, and the session stays taken over.
#[tokio::test(flavor = "multi_thread")]
async fn g40_the_cost_of_a_turn_interrupted_by_a_takeover_is_charged() {
    let (scenario, seen) = crate::support::scenario(SLOW).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.assign(id, &["gia", "enzo"]).await.unwrap();
    scenario.work().await;
    let before = scenario.session("rosa").await.budget.spent;
    scenario.write("rosa", "the forms").await;
    let worker = scenario.worker.clone();
    let works = tokio::spawn(async move { worker.answer_next().await });
    while seen.count() < 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    operator.take_over(id).await.unwrap();
    assert!(works.await.unwrap().unwrap());
    let session = scenario.session("rosa").await;
    assert_eq!(session.status, SessionStatus::HandedOff);
    let runs = scenario.runs("rosa").await;
    let looked = |turn: &TurnRecord| turn.decisions.len() == 1;
    let cost = runs.iter().find(|run| run.turns.iter().any(looked)).unwrap().credits;
    assert!(cost.get() >= 3, "{cost}");
    assert_eq!(session.budget.spent, before + cost);
    assert_eq!(session.team.unwrap().budget.per_agent, [(GIA, cost)].into());
    assert_eq!(scenario.spent(ORG).await, (before + cost).get());
    assert!(scenario.deliver().await.is_empty(), "the agent is not heard");
}
