//! Properties of escalations: no sequence of events reaches an illegal status.

use std::time::Duration;

use ostler_domain::human::escalation::{
    Escalation, EscalationEffect, EscalationEvent, EscalationRequest, EscalationStatus, Urgency,
};
use ostler_domain::id::UserId;
use ostler_domain::team::config::{AutoResume, TeamConfig, UnansweredPolicy};
use ostler_domain::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

use crate::check;
use EscalationStatus::{Dismissed, Pending, Resolved, TakenOver, TimedOut};

fn events() -> impl Strategy<Value = EscalationEvent> {
    let user = || (1..3u128).prop_map(UserId::from_u128);
    prop_oneof![
        2 => user().prop_map(EscalationEvent::TakeOver),
        2 => user().prop_map(EscalationEvent::HumanMessage),
        3 => Just(EscalationEvent::CustomerMessage),
        1 => Just(EscalationEvent::Resume),
        1 => Just(EscalationEvent::Dismiss),
        8 => Just(EscalationEvent::Tick),
    ]
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

fn configs() -> impl Strategy<Value = TeamConfig> {
    let limit = || (0..60u64).prop_map(minutes);
    let unanswered = prop_oneof![
        limit().prop_map(UnansweredPolicy::RemindAfterSecs),
        limit().prop_map(UnansweredPolicy::ResumeAfterSecs),
    ];
    let auto_resume = prop_oneof![Just(AutoResume::Never), limit().prop_map(AutoResume::AfterSecs)];
    let email_after = prop_oneof![Just(minutes(5)), limit()];
    (unanswered, auto_resume, email_after, any::<bool>()).prop_map(
        |(unanswered, auto_resume_after_human, email_after, team_group_enabled)| TeamConfig {
            unanswered,
            auto_resume_after_human,
            email_after,
            team_group_enabled,
            ..TeamConfig::default()
        },
    )
}

/// The urgency of a request, or `None` for a takeover without one.
fn starts() -> impl Strategy<Value = Option<Urgency>> {
    prop::option::weighted(0.9, select(vec![Urgency::Low, Urgency::Normal, Urgency::High]))
}

fn request(urgency: Urgency) -> EscalationRequest {
    EscalationRequest { reason: "asked".into(), urgency, context_summary: String::new() }
}

fn begin(
    urgency: Option<Urgency>,
    config: &TeamConfig,
) -> Result<(Escalation, Vec<EscalationEffect>), TestCaseError> {
    let now = Timestamp::from_millis(0);
    let refused = || TestCaseError::fail("refused without an open escalation");
    let Some(urgency) = urgency else {
        return Escalation::begin_takeover(None, UserId::from_u128(1), now).ok_or_else(refused);
    };
    Escalation::begin(None, request(urgency), config, now).ok_or_else(refused)
}

fn count(effects: &[EscalationEffect], effect: EscalationEffect) -> usize {
    effects.iter().filter(|&&other| other == effect).count()
}

/// Returns whether an event may change one status to another.
fn is_legal(from: EscalationStatus, event: &EscalationEvent, to: EscalationStatus) -> bool {
    from == to
        || matches!(
            (from, event, to),
            (Pending, EscalationEvent::TakeOver(_) | EscalationEvent::HumanMessage(_), TakenOver)
                | (Pending, EscalationEvent::Dismiss, Dismissed)
                | (Pending, EscalationEvent::Tick, TimedOut)
                | (TakenOver, EscalationEvent::Resume | EscalationEvent::Tick, Resolved)
        )
}

/// G34, G39, G44, G46, G47, G57: for any events at any times, with settings that
/// change meanwhile: every transition is legal; the session is handed off once and
/// given back once, after a takeover to the primary agent and with the resolution;
/// there is at most one e-mail and one reminder; and a closed escalation has no
/// effects.
#[test]
fn no_history_of_an_escalation_is_illegal() {
    let event = (events(), 0..120u64, any::<bool>());
    let cases = (starts(), configs(), configs(), prop::collection::vec(event, 0..40));
    check(600, &cases, |(start, config, other, events)| {
        let (mut escalation, first) = begin(start, &config)?;
        prop_assert_eq!(count(&first, EscalationEffect::HandOffSession), 1);
        prop_assert!(escalation.status.is_open());
        let mut all = vec![];
        for (event, minute, first_config) in events {
            let config = if first_config { &config } else { &other };
            let before = escalation.clone();
            let now = Timestamp::from_millis(0) + minutes(minute);
            let result = escalation.apply(&event, config, now);
            let (from, to) = (before.status, escalation.status);
            prop_assert!(is_legal(from, &event, to), "{:?} by {:?} to {:?}", from, event, to);
            let Ok(effects) = result else {
                prop_assert_eq!(&escalation, &before, "refused, yet changed");
                continue;
            };
            let ended = from.is_open() && !to.is_open();
            prop_assert_eq!(count(&effects, EscalationEffect::ActivateSession), usize::from(ended));
            prop_assert_eq!(count(&effects, EscalationEffect::HandOffSession), 0);
            prop_assert!(from.is_open() || effects.is_empty(), "over, yet {:?}", effects);
            let taken_over = matches!(to, TakenOver | Resolved);
            prop_assert_eq!(escalation.human.is_some(), taken_over);
            prop_assert_eq!(escalation.taken_over_at.is_some(), taken_over);
            let same_person = before.human.is_none() || escalation.human == before.human;
            prop_assert!(same_person, "another person without a hand-over");
            all.extend(effects);
        }
        prop_assert!(count(&all, EscalationEffect::SendEmail) <= 1, "more than one e-mail");
        prop_assert!(count(&all, EscalationEffect::Remind) <= 1, "more than one reminder");
        let end_effects = [
            EscalationEffect::ActivateSession,
            EscalationEffect::RecordFalsePositive,
            EscalationEffect::AgentAnswers,
            EscalationEffect::ReturnToPrimary,
            EscalationEffect::InjectResolution,
        ];
        let found = end_effects.map(|effect| count(&all, effect));
        let expected = match escalation.status {
            Pending | TakenOver => [0, 0, 0, 0, 0],
            Resolved => [1, 0, 1, 1, 1],
            Dismissed => [1, 1, 1, 0, 0],
            TimedOut => [1, 0, 1, 0, 0],
        };
        prop_assert_eq!(found, expected, "{:?}", escalation.status);
        Ok(())
    });
}

/// G34, G40, G55: another escalation, requested or begun by a takeover, begins
/// exactly when the last one is closed, and begins from scratch.
#[test]
fn g34_one_escalation_at_a_time() {
    let event = (events(), 0..120u64);
    let cases = (starts(), configs(), prop::collection::vec(event, 0..15));
    check(300, &cases, |(start, config, events)| {
        let (mut escalation, _) = begin(start, &config)?;
        for (event, minute) in events {
            let now = Timestamp::from_millis(0) + minutes(minute);
            // Refused or not, only the resulting status counts.
            let _ = escalation.apply(&event, &config, now);
            let again = Escalation::begin(Some(&escalation), request(Urgency::Low), &config, now);
            prop_assert_eq!(again.is_none(), escalation.status.is_open());
            if let Some((fresh, effects)) = again {
                prop_assert_eq!((fresh.status, fresh.requested_at), (Pending, now));
                prop_assert_eq!((fresh.human, fresh.last_human_message_at), (None, None));
                prop_assert_eq!(count(&effects, EscalationEffect::HandOffSession), 1);
                let notified = count(&effects, EscalationEffect::NotifyTeamGroup);
                prop_assert_eq!(notified, usize::from(config.team_group_enabled));
            }
            let user = UserId::from_u128(3);
            let takeover = Escalation::begin_takeover(Some(&escalation), user, now);
            prop_assert_eq!(takeover.is_none(), escalation.status.is_open());
            if let Some((fresh, effects)) = takeover {
                prop_assert_eq!((fresh.status, fresh.human), (TakenOver, Some(user)));
                let times = (fresh.taken_over_at, fresh.last_human_message_at);
                prop_assert_eq!(times, (Some(now), None));
                prop_assert_eq!(effects, [EscalationEffect::HandOffSession]);
            }
        }
        Ok(())
    });
}

/// G39, G57: while nobody answers, time decides: an e-mail for high urgency, a
/// reminder or the end at the configured limits, neither early nor twice.
#[test]
fn g39_g57_a_pending_escalation_sends_email_reminds_or_times_out_on_time() {
    let ticks = prop::collection::vec(0..70u64, 1..20);
    let urgency = select(vec![Urgency::Low, Urgency::Normal, Urgency::High]);
    check(600, &(urgency, configs(), ticks), |(urgency, config, mut ticks)| {
        ticks.sort_unstable();
        let (mut escalation, _) = begin(Some(urgency), &config)?;
        let (mut emailed, mut reminded, mut over) = (false, false, false);
        for minute in ticks {
            let waited = minutes(minute);
            let mut expected = vec![];
            let (reminds, resumes) = match config.unanswered {
                UnansweredPolicy::RemindAfterSecs(limit) => (waited >= limit, false),
                UnansweredPolicy::ResumeAfterSecs(limit) => (false, waited >= limit),
            };
            if resumes && !over {
                over = true;
                expected
                    .extend([EscalationEffect::ActivateSession, EscalationEffect::AgentAnswers]);
            }
            let pressing = urgency == Urgency::High && waited >= config.email_after;
            if !over && pressing && !emailed {
                emailed = true;
                expected.push(EscalationEffect::SendEmail);
            }
            if reminds && !reminded {
                reminded = true;
                expected.push(EscalationEffect::Remind);
            }
            let now = Timestamp::from_millis(0) + waited;
            prop_assert_eq!(escalation.apply(&EscalationEvent::Tick, &config, now), Ok(expected));
            prop_assert_eq!(escalation.status, if over { TimedOut } else { Pending });
        }
        Ok(())
    });
}

/// G31: after a takeover the agent resumes by itself only with auto-resume, and
/// only after the configured silence of the person.
#[test]
fn g31_the_agent_resumes_after_the_configured_silence() {
    let human = UserId::from_u128(1);
    let steps = prop::collection::vec((0..40u64, any::<bool>()), 1..20);
    check(400, &(configs(), steps), |(config, steps)| {
        let (mut escalation, _) = begin(None, &config)?;
        let (mut minute, mut last, mut over) = (0, 0, false);
        for (pause, writes) in steps {
            minute += pause;
            let now = Timestamp::from_millis(0) + minutes(minute);
            let event =
                if writes { EscalationEvent::HumanMessage(human) } else { EscalationEvent::Tick };
            let result = escalation.apply(&event, &config, now);
            if writes {
                prop_assert_eq!(result.is_ok(), !over);
                last = minute;
            } else {
                let silent = minutes(minute - last);
                over |= match config.auto_resume_after_human {
                    AutoResume::Never => false,
                    AutoResume::AfterSecs(limit) => silent >= limit,
                };
            }
            prop_assert_eq!(escalation.status, if over { Resolved } else { TakenOver });
        }
        Ok(())
    });
}
