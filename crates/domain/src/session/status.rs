//! Status of a session and its transitions.

use serde::{Deserialize, Serialize};

use super::lifetime::CloseReason;

/// Whether agents answer in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// Agents answer.
    Active,
    /// A person answers, or is asked to; agents are silent.
    HandedOff,
    Closed(CloseReason),
}

/// A change of the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusChange {
    /// The conversation is escalated to a person.
    Escalate,
    /// A person takes over without being asked.
    TakeOver,
    /// The agent continues: after a resume, a dismissal or a timeout.
    Resume,
    Close(CloseReason),
}

/// A change that the current status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", describe(*.from, *.change))]
pub struct IllegalStatusChange {
    pub from: SessionStatus,
    pub change: StatusChange,
}

const fn describe(from: SessionStatus, change: StatusChange) -> &'static str {
    match (from, change) {
        (SessionStatus::Closed(_), _) => "this session is closed",
        (SessionStatus::Active, StatusChange::Resume) => "an agent is answering already",
        (SessionStatus::HandedOff, StatusChange::Escalate) => "a human has been asked for already",
        _ => "this session cannot change like that",
    }
}

impl SessionStatus {
    /// Returns the status after a change.
    pub const fn after(self, change: StatusChange) -> Result<Self, IllegalStatusChange> {
        match (self, change) {
            (Self::Active, StatusChange::Escalate) => Ok(Self::HandedOff),
            (Self::Active | Self::HandedOff, StatusChange::TakeOver) => Ok(Self::HandedOff),
            (Self::HandedOff, StatusChange::Resume) => Ok(Self::Active),
            (Self::Active | Self::HandedOff, StatusChange::Close(reason)) => {
                Ok(Self::Closed(reason))
            }
            (from, change) => Err(IllegalStatusChange { from, change }),
        }
    }

    /// Returns whether an agent may answer.
    pub const fn agent_answers(self) -> bool {
        matches!(self, Self::Active)
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionStatus, StatusChange};
    use crate::session::lifetime::CloseReason;

    /// F06: the whole table of changes; everything else is refused.
    #[test]
    fn f06_status_changes_only_in_the_listed_ways() {
        use SessionStatus::{Active, Closed, HandedOff};
        use StatusChange::{Close, Escalate, Resume, TakeOver};
        let over = CloseReason::Expired;
        let table = [
            (Active, Escalate, Some(HandedOff)),
            (Active, TakeOver, Some(HandedOff)),
            (Active, Resume, None),
            (Active, Close(over), Some(Closed(over))),
            (HandedOff, Escalate, None),
            (HandedOff, TakeOver, Some(HandedOff)),
            (HandedOff, Resume, Some(Active)),
            (HandedOff, Close(over), Some(Closed(over))),
            (Closed(over), Escalate, None),
            (Closed(over), TakeOver, None),
            (Closed(over), Resume, None),
            (Closed(over), Close(over), None),
        ];
        for (from, change, expected) in table {
            assert_eq!(from.after(change).ok(), expected, "{from:?} {change:?}");
        }
        assert!(Active.agent_answers() && !HandedOff.agent_answers());
    }
}
