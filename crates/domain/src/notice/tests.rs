//! Table tests of kinds, cooldowns and recipients.

use super::{LowCredits, NoticeKind, NoticeRecipient, exhaustion_recipients, low_credits_reached};
use crate::id::AgentId;
use crate::money::Credits;
use crate::time::Timestamp;
use std::time::Duration;

/// C09, E07: the cooldown of each kind.
#[test]
fn c09_a_notice_is_not_repeated_within_its_cooldown() {
    let table = [
        (NoticeKind::ModelsFailed, 30),
        (NoticeKind::CreditsExhausted, 60),
        (NoticeKind::ChildCap, 60),
        (NoticeKind::ToolUnpaid, 60),
        (NoticeKind::DeadLetter, 60),
        (NoticeKind::DeadLetterAbandoned, 60),
        (NoticeKind::ToolDisabled, 24 * 60),
        (NoticeKind::RefundRequested, 30 * 24 * 60),
        (NoticeKind::LowCredits(LowCredits::Empty), 24 * 60),
    ];
    let sent = Timestamp::from_millis(5000);
    for (kind, minutes) in table {
        let end = sent + Duration::from_secs(minutes * 60);
        let just_before = Timestamp::from_millis(end.as_millis() - 1);
        assert!(kind.is_due(None, sent), "{kind:?}");
        assert!(!kind.is_due(Some(sent), just_before), "{kind:?}");
        assert!(kind.is_due(Some(sent), end), "{kind:?}");
    }
}

#[test]
fn the_owner_is_notified_at_20_10_and_0_percent_of_the_monthly_pool() {
    let check = |before, after, expected| {
        let level =
            low_credits_reached(Credits::new(200), Credits::new(before), Credits::new(after));
        assert_eq!(level, expected, "{before} to {after}");
    };
    check(200, 41, None);
    check(41, 40, Some(LowCredits::Percent20));
    check(40, 39, None);
    check(21, 20, Some(LowCredits::Percent10));
    check(41, 0, Some(LowCredits::Empty));
    check(1, 0, Some(LowCredits::Empty));
    check(0, 0, None);
    assert_eq!(low_credits_reached(Credits::ZERO, Credits::new(5), Credits::ZERO), None);
}

/// E07: in a team session both agents, the owner and the customer are notified once
/// each.
#[test]
fn e07_exhausted_credits_notify_agents_owner_and_customer() {
    let (a, b) = (AgentId::from_u128(1), AgentId::from_u128(2));
    let recipients: Vec<NoticeRecipient> = exhaustion_recipients([a, b, a]).into_iter().collect();
    assert_eq!(
        recipients,
        [
            NoticeRecipient::Customer,
            NoticeRecipient::Owner,
            NoticeRecipient::Agent(a),
            NoticeRecipient::Agent(b)
        ]
    );
}
