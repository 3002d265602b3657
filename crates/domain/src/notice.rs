//! Notices to people: who is told what, and how often at most.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::money::{Credits, percent_of};
use crate::time::Timestamp;

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// Every model of the chain failed.
    ModelsFailed,
    /// An org has no credits left, its parent's included.
    CreditsExhausted,
    /// A child org reached its share of the parent's credits.
    ChildCap,
    /// A message could not be delivered and was given up.
    DeadLetterAbandoned,
    /// A tool failed too often and is off for the session.
    ToolDisabled,
    /// A tool was not used because it costs more than is left.
    ToolUnpaid,
    /// The monthly pool is down to this share.
    LowCredits(LowCredits),
    /// A session has spent all that it may.
    SessionCap,
    /// A person is asked for in a conversation.
    Escalation,
    /// Nobody has come yet.
    EscalationReminder,
    /// An agent handed a conversation to another.
    Handoff,
    /// A call waits for a person.
    ApprovalWanted,
    /// A call was not decided in time.
    ApprovalExpired,
    /// A reply has no way out: nothing is connected to its channel any more.
    NoBinding,
}

/// The shares of the monthly pool at which the owner is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LowCredits {
    /// A fifth is left.
    Percent20,
    /// A tenth is left.
    Percent10,
    /// Nothing is left.
    Empty,
}

impl NoticeKind {
    /// The least time between two notices of this kind about the same thing.
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
            | Self::ApprovalExpired => 0,
        })
    }

    /// What an agent is told of it. No figures: it may repeat what it reads.
    pub const fn for_agent(self) -> &'static str {
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
        }
    }

    /// Whether it is time to say it again.
    pub fn due(self, last_sent: Option<Timestamp>, now: Timestamp) -> bool {
        last_sent.is_none_or(|at| now.since(at) >= self.cooldown())
    }
}

/// The share a balance has fallen to, if spending brought it to a new one.
pub fn low_credits(monthly: Credits, before: Credits, after: Credits) -> Option<LowCredits> {
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

/// Somebody to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// The person who wrote.
    Customer,
    /// The org's owner.
    Owner,
    /// An agent, in its next prompt.
    Agent(AgentId),
}

/// Who is told that the credits are gone: the customer, the owner and every
/// agent that takes part.
pub fn exhaustion_recipients(agents: impl IntoIterator<Item = AgentId>) -> BTreeSet<Recipient> {
    [Recipient::Customer, Recipient::Owner]
        .into_iter()
        .chain(agents.into_iter().map(Recipient::Agent))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{LowCredits, NoticeKind, Recipient, exhaustion_recipients, low_credits};
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
            assert!(kind.due(None, sent), "{kind:?}");
            assert!(!kind.due(Some(sent), just_before), "{kind:?}");
            assert!(kind.due(Some(sent), end), "{kind:?}");
        }
    }

    #[test]
    fn the_owner_is_told_at_20_10_and_0_percent_of_the_monthly_pool() {
        let check = |before, after, expected| {
            let level = low_credits(Credits::new(200), Credits::new(before), Credits::new(after));
            assert_eq!(level, expected, "{before} to {after}");
        };
        check(200, 41, None);
        check(41, 40, Some(LowCredits::Percent20));
        check(40, 39, None);
        check(21, 20, Some(LowCredits::Percent10));
        check(41, 0, Some(LowCredits::Empty));
        check(1, 0, Some(LowCredits::Empty));
        check(0, 0, None);
        assert_eq!(low_credits(Credits::ZERO, Credits::new(5), Credits::ZERO), None);
    }

    /// E07: in a team session both agents, the owner and the user are told, once each.
    #[test]
    fn e07_exhaustion_is_told_to_agents_owner_and_user() {
        let (a, b) = (AgentId::from_u128(1), AgentId::from_u128(2));
        let told: Vec<Recipient> = exhaustion_recipients([a, b, a]).into_iter().collect();
        assert_eq!(
            told,
            [Recipient::Customer, Recipient::Owner, Recipient::Agent(a), Recipient::Agent(b)]
        );
    }
}
