//! Table tests of escalations. That no sequence of events reaches an illegal status
//! is a property in `tests/`.

use std::time::Duration;

use super::{
    Escalation, EscalationEffect, EscalationError, EscalationEvent, EscalationRequest,
    EscalationStatus, Urgency, is_resume_command, queue_order,
};
use crate::id::UserId;
use crate::team::config::{AutoResume, DEFAULT_ESCALATION_WAIT, TeamConfig, UnansweredPolicy};
use crate::time::Timestamp;

const OPAL: UserId = UserId::from_u128(1);
const OTTO: UserId = UserId::from_u128(2);

fn after(minutes: u64) -> Timestamp {
    Timestamp::from_millis(0) + Duration::from_secs(minutes * 60)
}

fn request(urgency: Urgency) -> EscalationRequest {
    EscalationRequest {
        reason: "asked for a person".into(),
        urgency,
        context_summary: "order 1234".into(),
    }
}

fn pending(urgency: Urgency) -> Escalation {
    Escalation::begin(None, request(urgency), &TeamConfig::default(), after(0)).unwrap().0
}

fn taken_over() -> Escalation {
    let mut escalation = pending(Urgency::Normal);
    escalation.apply(&EscalationEvent::TakeOver(OPAL), &TeamConfig::default(), after(1)).unwrap();
    escalation
}

fn step(
    escalation: &mut Escalation,
    event: &EscalationEvent,
    minutes: u64,
) -> Vec<EscalationEffect> {
    escalation.apply(event, &TeamConfig::default(), after(minutes)).unwrap()
}

/// G33: the urgency is one of three, and nothing else.
#[test]
fn g33_a_bad_urgency_is_rejected() {
    assert_eq!("high".parse(), Ok(Urgency::High));
    assert_eq!("normal".parse(), Ok(Urgency::Normal));
    assert_eq!("low".parse(), Ok(Urgency::Low));
    let why = "urgent".parse::<Urgency>().unwrap_err().to_string();
    assert_eq!(why, "`urgent` is not an urgency; use high, normal or low");
}

/// G33-G38: one step sets the status and returns every notice; the team group is
/// notified only where it is enabled.
#[test]
fn g34_to_g38_an_escalation_begins_in_one_step() {
    let plain = TeamConfig::default();
    let group = TeamConfig { team_group_enabled: true, ..TeamConfig::default() };
    let begin = |config| {
        Escalation::begin(None, request(Urgency::Low), config, after(0)).expect("none is open")
    };
    let common = [
        EscalationEffect::HandOffSession,
        EscalationEffect::TellCustomerToWait,
        EscalationEffect::NotifyOwner,
        EscalationEffect::ShowOnDashboard,
    ];
    let (escalation, effects) = begin(&plain);
    assert_eq!(escalation.status, EscalationStatus::Pending);
    assert_eq!(escalation.request, request(Urgency::Low));
    assert_eq!(effects, common);
    let (_, effects) = begin(&group);
    assert_eq!(effects, [common.as_slice(), &[EscalationEffect::NotifyTeamGroup]].concat());
}

/// G38: the queue is sorted from high to low, then oldest first.
#[test]
fn g38_the_queue_is_sorted() {
    let at = |urgency, minutes| Escalation { requested_at: after(minutes), ..pending(urgency) };
    let mut queue =
        [at(Urgency::Low, 0), at(Urgency::High, 9), at(Urgency::Normal, 1), at(Urgency::High, 3)];
    queue.sort_by_key(queue_order);
    let order = queue.map(|e| (e.request.urgency, e.requested_at));
    let expected = [
        (Urgency::High, after(3)),
        (Urgency::High, after(9)),
        (Urgency::Normal, after(1)),
        (Urgency::Low, after(0)),
    ];
    assert_eq!(order, expected);
}

/// G39: exactly one e-mail, for high urgency, after five minutes without an answer.
#[test]
fn g39_a_high_urgency_escalation_sends_one_email_after_five_minutes() {
    let mut high = pending(Urgency::High);
    assert_eq!(step(&mut high, &EscalationEvent::Tick, 4), []);
    assert_eq!(step(&mut high, &EscalationEvent::Tick, 5), [EscalationEffect::SendEmail]);
    assert_eq!(step(&mut high, &EscalationEvent::Tick, 6), []);
    let mut answered = pending(Urgency::High);
    step(&mut answered, &EscalationEvent::TakeOver(OPAL), 4);
    assert_eq!(step(&mut answered, &EscalationEvent::Tick, 6), []);
    for urgency in [Urgency::Normal, Urgency::Low] {
        assert_eq!(step(&mut pending(urgency), &EscalationEvent::Tick, 10), [], "{urgency:?}");
    }
}

/// G40, G41: a takeover, or a message, puts a person in charge; the message goes to
/// the customer.
#[test]
fn g40_g41_a_person_takes_over() {
    let mut escalation = pending(Urgency::Normal);
    assert_eq!(
        step(&mut escalation, &EscalationEvent::HumanMessage(OPAL), 2),
        [EscalationEffect::DeliverToCustomer]
    );
    assert_eq!(escalation.status, EscalationStatus::TakenOver);
    assert_eq!((escalation.human, escalation.taken_over_at), (Some(OPAL), Some(after(2))));
    let other =
        escalation.apply(&EscalationEvent::TakeOver(OTTO), &TeamConfig::default(), after(3));
    assert_eq!(other, Err(EscalationError::TakenOverByOther(OPAL)));
    assert_eq!(step(&mut escalation, &EscalationEvent::TakeOver(OPAL), 4), []);
    assert_eq!(escalation.taken_over_at, Some(after(2)));
}

/// G40: an operator can take over without an escalation.
#[test]
fn g40_a_person_takes_over_without_an_escalation() {
    let (escalation, effects) = Escalation::begin_takeover(None, OPAL, after(3)).unwrap();
    assert_eq!(effects, [EscalationEffect::HandOffSession]);
    assert_eq!(escalation.status, EscalationStatus::TakenOver);
    assert_eq!((escalation.human, escalation.taken_over_at), (Some(OPAL), Some(after(3))));
    assert_eq!(Escalation::begin_takeover(Some(&escalation), OTTO, after(4)), None);
}

/// G42, G43, G56: the customer's messages do not reach the agent while an
/// escalation is open.
#[test]
fn g42_g43_g56_customer_messages_do_not_reach_the_agent() {
    let effects = step(&mut taken_over(), &EscalationEvent::CustomerMessage, 2);
    assert_eq!(effects, [EscalationEffect::ForwardToHuman]);
    let effects = step(&mut pending(Urgency::Normal), &EscalationEvent::CustomerMessage, 2);
    assert_eq!(effects, [EscalationEffect::TellCustomerToWait, EscalationEffect::ShowOnDashboard]);
    assert!(EscalationStatus::Pending.is_open() && EscalationStatus::TakenOver.is_open());
}

/// G44: a human message outside a takeover is refused.
#[test]
fn g44_a_human_message_needs_an_open_escalation() {
    let mut escalation = taken_over();
    step(&mut escalation, &EscalationEvent::Resume, 5);
    let refused =
        escalation.apply(&EscalationEvent::HumanMessage(OPAL), &TeamConfig::default(), after(6));
    assert_eq!(refused, Err(EscalationError::NotOpen));
}

/// G45: `@agent resume` hands back, and nothing else does.
#[test]
fn g45_only_the_command_resumes() {
    for text in ["@agent resume", "  @Agent   RESUME "] {
        assert!(is_resume_command(text), "{text}");
    }
    for text in ["resume", "@agent", "@agent resume please", "agent resume", "", "@agent stop"] {
        assert!(!is_resume_command(text), "{text}");
    }
}

/// G46: the effects of resuming.
#[test]
fn g46_resuming_gives_the_conversation_back() {
    let mut escalation = taken_over();
    let effects = step(&mut escalation, &EscalationEvent::Resume, 9);
    let expected = [
        EscalationEffect::ActivateSession,
        EscalationEffect::ReturnToPrimary,
        EscalationEffect::InjectResolution,
        EscalationEffect::AgentAnswers,
    ];
    assert_eq!(effects, expected);
    assert_eq!(escalation.status, EscalationStatus::Resolved);
    let mut unanswered = pending(Urgency::Normal);
    let refused = unanswered.apply(&EscalationEvent::Resume, &TeamConfig::default(), after(1));
    assert_eq!(refused, Err(EscalationError::NotTakenOver));
}

/// G47: a dismissed escalation was a false positive, and the agent continues.
#[test]
fn g47_dismissing_lets_the_agent_answer() {
    let mut escalation = pending(Urgency::Low);
    let effects = step(&mut escalation, &EscalationEvent::Dismiss, 1);
    let expected = [
        EscalationEffect::ActivateSession,
        EscalationEffect::RecordFalsePositive,
        EscalationEffect::AgentAnswers,
    ];
    assert_eq!(effects, expected);
    assert_eq!(escalation.status, EscalationStatus::Dismissed);
    let refused = taken_over().apply(&EscalationEvent::Dismiss, &TeamConfig::default(), after(2));
    assert_eq!(refused, Err(EscalationError::TakenOver));
}

/// G55: no second escalation begins while one is open.
#[test]
fn g55_there_is_one_escalation_at_a_time() {
    let config = TeamConfig::default();
    let again = |current: &Escalation| {
        Escalation::begin(Some(current), request(Urgency::High), &config, after(9)).is_some()
    };
    let mut escalation = taken_over();
    assert!(!again(&pending(Urgency::Low)) && !again(&escalation));
    step(&mut escalation, &EscalationEvent::Resume, 8);
    assert!(again(&escalation));
}

/// G57: by default one reminder after 30 minutes, and the customer keeps waiting.
#[test]
fn g57_an_unanswered_escalation_sends_one_reminder() {
    let mut escalation = pending(Urgency::Normal);
    assert_eq!(step(&mut escalation, &EscalationEvent::Tick, 29), []);
    assert_eq!(step(&mut escalation, &EscalationEvent::Tick, 30), [EscalationEffect::Remind]);
    assert_eq!(step(&mut escalation, &EscalationEvent::Tick, 90), []);
    assert_eq!(escalation.status, EscalationStatus::Pending);
}

/// G57: with auto-resume it times out and the agent answers.
#[test]
fn g57_with_auto_resume_an_unanswered_escalation_times_out() {
    let unanswered = UnansweredPolicy::ResumeAfterSecs(DEFAULT_ESCALATION_WAIT);
    let config = TeamConfig { unanswered, ..TeamConfig::default() };
    let mut escalation = pending(Urgency::Normal);
    assert_eq!(escalation.apply(&EscalationEvent::Tick, &config, after(29)), Ok(vec![]));
    let effects = escalation.apply(&EscalationEvent::Tick, &config, after(30));
    assert_eq!(
        effects,
        Ok(vec![EscalationEffect::ActivateSession, EscalationEffect::AgentAnswers])
    );
    assert_eq!(escalation.status, EscalationStatus::TimedOut);
}

/// G31: with auto-resume the agent resumes 30 minutes after the last human message;
/// otherwise never.
#[test]
fn g31_the_agent_resumes_by_itself_only_with_auto_resume() {
    let resuming = TeamConfig {
        auto_resume_after_human: AutoResume::AfterSecs(DEFAULT_ESCALATION_WAIT),
        ..TeamConfig::default()
    };
    let mut escalation = taken_over();
    step(&mut escalation, &EscalationEvent::HumanMessage(OPAL), 10);
    assert_eq!(step(&mut escalation, &EscalationEvent::Tick, 100_000), []);
    assert_eq!(escalation.apply(&EscalationEvent::Tick, &resuming, after(39)), Ok(vec![]));
    let effects = escalation.apply(&EscalationEvent::Tick, &resuming, after(40)).unwrap();
    let expected = [
        EscalationEffect::ActivateSession,
        EscalationEffect::ReturnToPrimary,
        EscalationEffect::InjectResolution,
        EscalationEffect::AgentAnswers,
    ];
    assert_eq!(effects, expected);
}
