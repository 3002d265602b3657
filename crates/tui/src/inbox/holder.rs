//! Who has a conversation, and in which order conversations need attention.

use std::cmp::Reverse;

use ostler_api::session::{Session, SessionState};
use ostler_domain::human::escalation::{EscalationStatus, Urgency};
use ostler_domain::id::{AgentId, UserId};
use ostler_domain::time::Timestamp;

/// Who has a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// Nobody yet: the customer waits for a person.
    Waiting {
        since: Timestamp,
        urgency: Urgency,
    },
    Person {
        user: Option<UserId>,
        since: Option<Timestamp>,
    },
    Agent(Option<AgentId>),
    Closed,
}

/// The parts of the list, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Waiting,
    People,
    Agents,
    Closed,
}

impl Group {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting for a person",
            Self::People => "With people",
            Self::Agents => "With agents",
            Self::Closed => "Closed",
        }
    }
}

impl Holder {
    pub(super) fn of(session: &Session) -> Self {
        match (session.status, session.open_escalation()) {
            (SessionState::Closed, _) => Self::Closed,
            (SessionState::Active, _) => Self::Agent(session.agent),
            (SessionState::HandedOff, Some(one)) if one.status == EscalationStatus::Pending => {
                Self::Waiting { since: one.requested_at, urgency: one.urgency }
            }
            (SessionState::HandedOff, one) => Self::Person {
                user: one.and_then(|one| one.taken_over_by),
                since: one.and_then(|one| one.taken_over_at),
            },
        }
    }

    pub(super) const fn group(self) -> Group {
        match self {
            Self::Waiting { .. } => Group::Waiting,
            Self::Person { .. } => Group::People,
            Self::Agent(_) => Group::Agents,
            Self::Closed => Group::Closed,
        }
    }

    /// Returns since when somebody waits, or has it.
    pub(super) const fn since(self) -> Option<Timestamp> {
        match self {
            Self::Waiting { since, .. } => Some(since),
            Self::Person { since, .. } => since,
            Self::Agent(_) | Self::Closed => None,
        }
    }
}

/// Returns by what conversations are sorted: those that wait, by urgency and waiting time; those
/// of people, the longest first; those of agents, with calls to decide about first, then the
/// newest.
pub(super) fn order(session: &Session) -> impl Ord + use<> {
    let holder = Holder::of(session);
    let urgency = match holder {
        Holder::Waiting { urgency, .. } => Some(urgency),
        _ => None,
    };
    let needs_decision = session.pending_approvals > 0;
    (
        holder.group(),
        Reverse(urgency),
        holder.since().map_or(0, Timestamp::as_millis),
        !needs_decision,
        Reverse(session.opened_at.as_millis()),
        session.id,
    )
}
