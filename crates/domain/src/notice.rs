//! Notices to customers, owners and agents: what they are about, who receives them,
//! and their cooldowns.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, UserId};
use crate::money::{Credits, percent_of};
use crate::time::Timestamp;

/// The subject of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// Every model in the fallback chain failed.
    ModelsFailed,
    /// An org and its parent have no credits left.
    CreditsExhausted,
    /// A child org reached its cap on the parent's credits.
    ChildCap,
    /// A message was given up as a dead letter.
    DeadLetterAbandoned,
    /// A tool failed too often and is disabled for the session.
    ToolDisabled,
    /// A tool was not called because it costs more than is left.
    ToolUnpaid,
    /// The monthly pool fell to this share.
    LowCredits(LowCredits),
    /// A session reached its spending cap.
    SessionCap,
    /// A conversation was escalated to a human.
    Escalation,
    /// An escalation is still unanswered.
    EscalationReminder,
    Handoff,
    /// A tool call needs approval.
    ApprovalWanted,
    /// An approval was not decided in time, or its call was not made in time.
    ApprovalExpired,
    /// A call that a person approved did not do what was asked.
    ApprovedCallFailed,
    /// A reply cannot be sent: its channel has no enabled binding any more.
    NoBinding,
}

/// The shares of the monthly pool at which the owner is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LowCredits {
    Percent20,
    Percent10,
    Empty,
}

impl NoticeKind {
    /// Returns the minimum time between two notices of this kind about the same
    /// subject.
    pub const fn cooldown(self) -> Duration {
        const MINUTE: u64 = 60;
        Duration::from_secs(match self {
            Self::ModelsFailed => 30 * MINUTE,
            Self::CreditsExhausted
            | Self::ToolUnpaid
            | Self::ChildCap
            | Self::DeadLetterAbandoned
            | Self::NoBinding => 60 * MINUTE,
            Self::ToolDisabled | Self::LowCredits(_) | Self::SessionCap => 24 * 60 * MINUTE,
            Self::Escalation
            | Self::EscalationReminder
            | Self::Handoff
            | Self::ApprovalWanted
            | Self::ApprovalExpired
            | Self::ApprovedCallFailed => 0,
        })
    }

    /// Returns the text for an agent. It has no figures, because the agent may repeat
    /// what it reads.
    pub const fn agent_text(self) -> &'static str {
        match self {
            Self::CreditsExhausted | Self::LowCredits(_) => {
                "Customers could not be answered for a while. It is not their fault: apologize \
                 for the wait if it comes up, and do not say why."
            }
            Self::ChildCap | Self::SessionCap => {
                "A conversation had to end early. Keep answers short, and do not say why."
            }
            Self::ModelsFailed => "An answer failed. Apologize for the wait if it comes up.",
            Self::DeadLetterAbandoned | Self::NoBinding => {
                "A message did not reach its customer. Repeat what matters."
            }
            Self::ToolDisabled => "A tool failed repeatedly. Do not promise what it would do.",
            Self::ToolUnpaid => "A tool could not be used. Do not promise what it would do.",
            Self::Escalation | Self::EscalationReminder => "A person was asked for.",
            Self::Handoff => "A conversation was handed to a colleague.",
            Self::ApprovalWanted => "A person has to decide on a call.",
            Self::ApprovalExpired => "A call was not decided in time.",
            Self::ApprovedCallFailed => "An approved call did not do what was asked.",
        }
    }

    /// Returns whether the cooldown since the last notice is over.
    pub fn is_due(self, last_sent: Option<Timestamp>, now: Timestamp) -> bool {
        last_sent.is_none_or(|at| now.since(at) >= self.cooldown())
    }
}

/// Returns the share that spending has brought the balance down to, if it is a new
/// one.
pub fn low_credits_reached(
    monthly: Credits,
    before: Credits,
    after: Credits,
) -> Option<LowCredits> {
    let level = |balance: Credits| {
        if monthly.is_zero() {
            None
        } else if balance.is_zero() {
            Some(LowCredits::Empty)
        } else if balance <= percent_of(monthly, 10) {
            Some(LowCredits::Percent10)
        } else if balance <= percent_of(monthly, 20) {
            Some(LowCredits::Percent20)
        } else {
            None
        }
    };
    level(after).filter(|reached| level(before) < Some(*reached))
}

/// A recipient of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeRecipient {
    /// The customer of the conversation.
    Customer,
    Owner,
    /// A person of the org.
    User(UserId),
    /// An agent, through its next prompt.
    Agent(AgentId),
}

/// Returns the recipients when credits are exhausted: the customer, the owner and
/// every participating agent.
pub fn exhaustion_recipients(
    agents: impl IntoIterator<Item = AgentId>,
) -> BTreeSet<NoticeRecipient> {
    [NoticeRecipient::Customer, NoticeRecipient::Owner]
        .into_iter()
        .chain(agents.into_iter().map(NoticeRecipient::Agent))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{
        LowCredits, NoticeKind, NoticeRecipient, exhaustion_recipients, low_credits_reached,
    };
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
            (NoticeKind::DeadLetterAbandoned, 60),
            (NoticeKind::ToolDisabled, 24 * 60),
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
        let recipients: Vec<NoticeRecipient> =
            exhaustion_recipients([a, b, a]).into_iter().collect();
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
}
