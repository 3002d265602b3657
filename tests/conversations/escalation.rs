//! Escalations: who is notified, where, and what the customer is told.

use std::time::Duration;

use ostler_domain::human::escalation::{EscalationStatus, Urgency};
use ostler_domain::notice::NoticeKind;
use ostler_domain::session::key::Peer;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::config::{AutoResume, TeamConfig, UnansweredPolicy};
use ostler_runtime::operations::Actor;
use ostler_runtime::records::message::{Purpose, ThreadMessage};
use ostler_runtime::records::outgoing::OutgoingMessage;
use ostler_runtime::records::run::RunOutcome;
use ostler_store::OutboxDelivery;
use ostler_testkit::claim_send;

use crate::support::{EMAIL, ORG, Scenario, TELEGRAM, text_of};

const ESCALATES: &str = "
rules:
  - when: { user: refund }
    answer:
      call: escalate_to_human
      with: { reason: a refund, urgency: high, contextSummary: Rosa paid twice }
  - when: { user: complaint }
    answer:
      text: One moment, I fetch somebody.
      call: escalate_to_human
      with: { reason: a complaint, urgency: low, contextSummary: the pizza was cold }
  - when: { user: nonsense }
    answer:
      - call: escalate_to_human
        with: { reason: a refund, urgency: extreme }
      - That did not work.
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: invoice, contextSummary: about an invoice }
  - when: { user: invoice, agent: 'You are Enzo' }
    answer:
      call: escalate_to_human
      with: { reason: needs a person, urgency: low, contextSummary: an odd invoice }
default: 'About {{ user }}: yes.'
";

const HOLD: &str = "Let me connect you with my team. They'll be right with you.";

fn to_owner(sent: &[OutgoingMessage]) -> Vec<&OutgoingMessage> {
    sent.iter().filter(|one| one.to == Peer::Person("1001".into())).collect()
}

fn to_group(sent: &[OutgoingMessage]) -> Vec<String> {
    let group = Peer::Group("-500".into());
    sent.iter().filter(|one| one.to == group).map(text_of).collect()
}

fn mails(sent: &[OutgoingMessage]) -> usize {
    sent.iter().filter(|one| one.binding == EMAIL).count()
}

/// G33, G34, G35, G36: an agent escalates. The session is handed off with reason and
/// urgency, the customer is asked to wait, and the owner is notified with buttons. An
/// unknown urgency is refused.
#[tokio::test]
async fn escalation() {
    let scenario = Scenario::new(ESCALATES).await;
    scenario.set_notify_addresses(TeamConfig::default()).await;
    assert_eq!(scenario.say("otto", "nonsense").await, ["That did not work."]);
    assert_eq!(scenario.session("otto").await.status, SessionStatus::Active);

    scenario.write("rosa", "I want a refund").await;
    scenario.work().await;
    let sent = scenario.deliver().await;
    let session = scenario.session("rosa").await;
    assert_eq!(session.status, SessionStatus::HandedOff);
    let escalation = session.open_escalation().unwrap();
    assert_eq!(escalation.state.status, EscalationStatus::Pending);
    let request = &escalation.state.request;
    assert_eq!((request.reason.as_str(), request.urgency), ("a refund", Urgency::High));
    assert_eq!(request.context_summary, "Rosa paid twice");

    let customer: Vec<_> =
        sent.iter().filter(|one| one.to == Peer::Person("rosa".into())).collect();
    assert_eq!(customer.iter().map(|one| text_of(one)).collect::<Vec<_>>(), [HOLD]);
    let held = scenario.thread("rosa").await.pop().unwrap();
    assert_eq!((held.purpose, held.text().as_ref()), (Purpose::Hold, HOLD));

    let owner = to_owner(&sent);
    assert_eq!(owner.len(), 1);
    assert_eq!(owner[0].binding, TELEGRAM);
    let buttons: Vec<_> = owner[0].buttons.iter().map(|one| one.data.clone()).collect();
    let id = session.id;
    assert_eq!(buttons, [format!("take_over:{id}"), format!("dismiss:{id}")]);
    assert!(text_of(owner[0]).contains("a refund"), "{:?}", owner[0]);
    assert!(scenario.notices().await.iter().any(|one| one.notice.kind == NoticeKind::Escalation));
}

/// G35: what an agent writes beside its escalation is what the customer reads; they are not
/// asked to wait a second time.
#[tokio::test]
async fn g35_the_customer_is_asked_to_wait_once() {
    let scenario = Scenario::new(ESCALATES).await;
    assert_eq!(scenario.say("rosa", "a complaint").await, ["One moment, I fetch somebody."]);
    assert_eq!(scenario.session("rosa").await.status, SessionStatus::HandedOff);
}

/// G28: an agent that was tagged in can escalate too.
#[tokio::test]
async fn g28_an_agent_that_was_tagged_in_can_escalate() {
    let scenario = Scenario::new(ESCALATES).await;
    scenario.say("rosa", "my invoice").await;
    let session = scenario.session("rosa").await;
    assert_eq!(session.team.as_ref().unwrap().active(), crate::support::ENZO);
    let escalation = session.open_escalation().unwrap();
    assert_eq!(escalation.state.request.urgency, Urgency::Low);
}

/// G37: the team group is notified only where it is enabled.
#[tokio::test]
async fn g37_the_team_group_is_notified_only_if_it_is_enabled() {
    for enabled in [false, true] {
        let scenario = Scenario::new(ESCALATES).await;
        let team = TeamConfig { team_group_enabled: enabled, ..TeamConfig::default() };
        scenario.set_notify_addresses(team).await;
        scenario.write("rosa", "a refund").await;
        scenario.work().await;
        let sent = scenario.deliver().await;
        assert_eq!(to_group(&sent).len(), usize::from(enabled), "{sent:?}");
    }
}

/// G38: the queue has the highest urgency first, then the oldest escalation.
#[tokio::test]
async fn g38_the_escalation_queue_is_sorted_by_urgency_and_age() {
    let scenario = Scenario::new(ESCALATES).await;
    let order = [
        ("anna", "my invoice"),
        ("ben", "a refund"),
        ("carl", "talk to a human"),
        ("dora", "a refund"),
        ("eva", "talk to a human"),
    ];
    for (who, text) in order {
        scenario.say(who, text).await;
        scenario.advance(Duration::from_secs(1));
    }
    let operations = scenario.operations();
    let queue = operations.as_actor(Actor::Terminal, ORG).escalations().await.unwrap();
    let names: Vec<_> = queue.iter().map(|one| one.session.name.clone().unwrap()).collect();
    assert_eq!(names, ["ben", "dora", "carl", "eva", "anna"]);
}

/// G39: a high urgency without a takeover for five minutes sends one e-mail, and never a
/// second.
#[tokio::test]
async fn g39_one_email_is_sent_after_five_minutes_without_takeover() {
    let scenario = Scenario::new(ESCALATES).await;
    scenario.set_notify_addresses(TeamConfig::default()).await;
    scenario.say("rosa", "a refund").await;
    scenario.say("otto", "talk to a human").await;
    scenario.advance(Duration::from_secs(299));
    scenario.sweep().await;
    assert_eq!(mails(&scenario.deliver().await), 0);
    scenario.advance(Duration::from_secs(2));
    scenario.sweep().await;
    assert_eq!(mails(&scenario.deliver().await), 1);
    for _ in 0..3 {
        scenario.advance(Duration::from_secs(600));
        scenario.sweep().await;
        assert_eq!(mails(&scenario.deliver().await), 0);
    }
}

/// G39: no e-mail is sent after a takeover within four minutes.
#[tokio::test]
async fn g39_no_email_is_sent_after_a_takeover() {
    let scenario = Scenario::new(ESCALATES).await;
    scenario.set_notify_addresses(TeamConfig::default()).await;
    scenario.say("rosa", "a refund").await;
    scenario.advance(Duration::from_secs(240));
    let id = scenario.session("rosa").await.id;
    scenario.operations().as_actor(Actor::Terminal, ORG).take_over(id).await.unwrap();
    scenario.advance(Duration::from_secs(3600));
    scenario.sweep().await;
    assert_eq!(mails(&scenario.deliver().await), 0);
}

/// G57: after half an hour the owner is reminded once; the customer keeps waiting.
#[tokio::test]
async fn g57_the_owner_is_reminded_once_of_an_unanswered_escalation() {
    let scenario = Scenario::new(ESCALATES).await;
    scenario.set_notify_addresses(TeamConfig::default()).await;
    scenario.say("rosa", "talk to a human").await;
    for (minutes, reminders) in [(29, 0), (2, 1), (60, 0), (600, 0)] {
        scenario.advance(Duration::from_secs(minutes * 60));
        scenario.sweep().await;
        let sent = scenario.deliver().await;
        let owner = to_owner(&sent);
        assert_eq!(owner.len(), reminders, "after {minutes} more minutes");
        assert!(owner.iter().all(|one| text_of(one).contains("Still waiting")));
    }
    let session = scenario.session("rosa").await;
    assert_eq!(session.open_escalation().unwrap().state.status, EscalationStatus::Pending);
    assert_eq!(session.status, SessionStatus::HandedOff);
}

/// G57: where the org says so, the agent resumes an unanswered escalation and answers
/// what was written.
#[tokio::test]
async fn g57_the_agent_resumes_an_unanswered_escalation_if_configured() {
    let scenario = Scenario::new(ESCALATES).await;
    let unanswered = UnansweredPolicy::ResumeAfterSecs(Duration::from_secs(1800));
    scenario.set_notify_addresses(TeamConfig { unanswered, ..TeamConfig::default() }).await;
    scenario.say("rosa", "talk to a human").await;
    scenario.advance(Duration::from_secs(1801));
    scenario.sweep().await;
    let sent = scenario.deliver().await;
    let rosa: Vec<_> = sent.iter().filter(|one| one.to == Peer::Person("rosa".into())).collect();
    assert_eq!(rosa.len(), 1, "{sent:?}");
    let session = scenario.session("rosa").await;
    assert_eq!(session.status, SessionStatus::Active);
    assert_eq!(session.escalation.unwrap().state.status, EscalationStatus::TimedOut);
    assert_eq!(scenario.sweep().await.sessions, 0, "a tick that was done is not due again");
}

/// G55, G56: during an escalation messages of the customer are stored and answered with a
/// request to wait; no model is asked, and nothing is escalated again.
#[tokio::test]
async fn g55_g56_messages_during_an_escalation_are_stored_and_not_escalated_again() {
    let scenario = Scenario::new(ESCALATES).await;
    scenario.set_notify_addresses(TeamConfig::default()).await;
    scenario.say("rosa", "talk to a human").await;
    let first = scenario.session("rosa").await.escalation.unwrap();
    scenario.write("rosa", "talk to a human, this is ridiculous, useless").await;
    scenario.work().await;
    let sent = scenario.deliver().await;
    assert_eq!(sent.len(), 1, "only the customer hears something: {sent:?}");
    assert!(text_of(&sent[0]).contains("patience"));
    let runs = scenario.runs("rosa").await;
    assert_eq!(runs[1].outcome, RunOutcome::WaitingForHuman);
    assert!(runs[1].turns.is_empty());
    let session = scenario.session("rosa").await;
    assert_eq!(session.escalation.unwrap().id, first.id);
    let thread = scenario.thread("rosa").await;
    let texts: Vec<_> = thread.iter().map(ThreadMessage::text).collect();
    assert!(texts.contains(&"talk to a human, this is ridiculous, useless".into()));
}

/// G31: with `autoResumeAfterHuman` the agent resumes after the person was silent for
/// long enough; without it, never.
#[tokio::test]
async fn g31_the_agent_resumes_after_a_silent_takeover_only_if_configured() {
    for (setting, resumes) in
        [(AutoResume::Never, false), (AutoResume::AfterSecs(Duration::from_secs(1800)), true)]
    {
        let scenario = Scenario::new(ESCALATES).await;
        let team = TeamConfig { auto_resume_after_human: setting, ..TeamConfig::default() };
        scenario.set_notify_addresses(team).await;
        scenario.say("rosa", "a refund").await;
        let id = scenario.session("rosa").await.id;
        let operations = scenario.operations();
        let operator = operations.as_actor(Actor::Terminal, ORG);
        operator.take_over(id).await.unwrap();
        scenario.advance(Duration::from_secs(1000));
        operator
            .say(id, vec![ostler_domain::message::MessagePart::text("It is on its way.")])
            .await
            .unwrap();
        scenario.advance(Duration::from_secs(1000));
        scenario.sweep().await;
        assert_eq!(scenario.session("rosa").await.status, SessionStatus::HandedOff);
        scenario.advance(Duration::from_secs(100_000));
        scenario.sweep().await;
        let status = scenario.session("rosa").await.status;
        assert_eq!(status == SessionStatus::Active, resumes, "{setting:?}");
    }
}

/// G36, G41: an owner who cannot be reached does not keep the customer waiting.
#[tokio::test]
async fn g36_an_undeliverable_owner_notice_does_not_delay_the_customer() {
    let scenario = Scenario::new(ESCALATES).await;
    scenario.set_notify_addresses(TeamConfig::default()).await;
    scenario.write("rosa", "a refund").await;
    scenario.work().await;
    let late = OutboxDelivery::RetryAfter(Duration::from_secs(3600));
    let mut reached = 0;
    while let Some(row) = claim_send(&scenario.store, Duration::from_secs(10)).await {
        let outgoing: OutgoingMessage = serde_json::from_str(&row.payload).unwrap();
        let owner = outgoing.to == Peer::Person("1001".into());
        reached += usize::from(!owner);
        let outcome = if owner { late.clone() } else { OutboxDelivery::Sent };
        scenario.org().record_delivery(&row, outcome).await.unwrap();
    }
    assert_eq!(reached, 1);
    let id = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let words = vec![ostler_domain::message::MessagePart::text("Here I am.")];
    operations.as_actor(Actor::Terminal, ORG).say(id, words).await.unwrap();
    assert_eq!(scenario.deliver().await.iter().map(text_of).collect::<Vec<_>>(), ["Here I am."]);
}
