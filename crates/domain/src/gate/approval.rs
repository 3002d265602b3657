//! Approvals: a call that waits for a person, its end and its single use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::AskReason;
use crate::id::{AgentId, ApprovalId, SessionId, UserId};
use crate::time::Timestamp;
use crate::tool::{Risk, ToolName};

/// How long a person has, unless the org says otherwise.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(24 * 3600);

/// A fingerprint of a call's exact arguments, which the engine computes.
/// Written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArgumentsHash(pub [u8; 32]);

/// The text is not a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint of arguments has 64 hexadecimal digits")]
pub struct BadHash;

impl From<ArgumentsHash> for String {
    fn from(hash: ArgumentsHash) -> Self {
        hash.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for ArgumentsHash {
    type Error = BadHash;

    fn try_from(text: String) -> Result<Self, BadHash> {
        let mut hash = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(BadHash);
        }
        for (at, byte) in hash.iter_mut().enumerate() {
            let digits = &text[2 * at..2 * at + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| BadHash)?;
        }
        Ok(Self(hash))
    }
}

/// Where an approval stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Waiting.
    Pending,
    /// A person said yes; the call has not run yet.
    Approved {
        /// Who.
        by: UserId,
    },
    /// The call has run, or is running: never again.
    Used {
        /// Who had approved it.
        by: UserId,
    },
    /// A person said no.
    Rejected {
        /// Who.
        by: UserId,
        /// Why; the agent is told.
        reason: String,
    },
    /// Nobody answered in time.
    Expired,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The session it is asked for in.
    pub session: SessionId,
    /// The agent that asks.
    pub agent: AgentId,
    /// The tool.
    pub tool: ToolName,
    /// The tool's risk, for the person to see.
    pub risk: Risk,
    /// Why it asks.
    pub why: AskReason,
    /// The arguments it is bound to.
    pub arguments: ArgumentsHash,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// Where it stands.
    #[serde(flatten)]
    pub status: ApprovalStatus,
}

/// Why an approval cannot be decided or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Somebody has decided, or it has expired.
    #[error("{0} is not pending any more")]
    NotPending(ApprovalId),
    /// Its time was over and nobody had noticed: it has expired just now, and
    /// the customer and the owner are to be told.
    #[error("{0} has expired; nothing was run")]
    JustExpired(ApprovalId),
    /// It was not approved, or has been used.
    #[error("{0} is not approved, or has been used")]
    NotUsable(ApprovalId),
    /// The call is not the one that was approved.
    #[error("{0} was given for other arguments")]
    OtherArguments(ApprovalId),
}

impl Approval {
    /// Whether it waits for a person.
    pub fn is_pending(&self) -> bool {
        self.status == ApprovalStatus::Pending
    }

    fn decide(&mut self, status: ApprovalStatus, now: Timestamp) -> Result<(), ApprovalError> {
        if self.expire(now) {
            return Err(ApprovalError::JustExpired(self.id));
        }
        if !self.is_pending() {
            return Err(ApprovalError::NotPending(self.id));
        }
        self.status = status;
        Ok(())
    }

    /// A person says yes.
    pub fn approve(&mut self, by: UserId, now: Timestamp) -> Result<(), ApprovalError> {
        self.decide(ApprovalStatus::Approved { by }, now)
    }

    /// A person says yes to other arguments than were asked for.
    pub fn approve_with(
        &mut self,
        by: UserId,
        arguments: ArgumentsHash,
        now: Timestamp,
    ) -> Result<(), ApprovalError> {
        self.approve(by, now)?;
        self.arguments = arguments;
        Ok(())
    }

    /// A person says no.
    pub fn reject(
        &mut self,
        by: UserId,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), ApprovalError> {
        self.decide(ApprovalStatus::Rejected { by, reason: reason.to_owned() }, now)
    }

    /// Ends it when its time is over; says whether it did just now, so that
    /// the customer and the owner are told once.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let over = self.is_pending() && now >= self.expires_at;
        if over {
            self.status = ApprovalStatus::Expired;
        }
        over
    }

    /// Uses it for a call with these arguments: once.
    pub fn take(&mut self, arguments: ArgumentsHash) -> Result<(), ApprovalError> {
        let ApprovalStatus::Approved { by } = self.status else {
            return Err(ApprovalError::NotUsable(self.id));
        };
        if arguments != self.arguments {
            return Err(ApprovalError::OtherArguments(self.id));
        }
        self.status = ApprovalStatus::Used { by };
        Ok(())
    }
}

/// How many approvals of a session are pending.
pub fn pending_in<'a>(
    session: SessionId,
    approvals: impl IntoIterator<Item = &'a Approval>,
) -> usize {
    let waits = |approval: &&Approval| approval.session == session && approval.is_pending();
    approvals.into_iter().filter(waits).count()
}

#[cfg(test)]
mod tests {
    use super::{
        Approval, ApprovalError, ApprovalStatus, ArgumentsHash, EXPIRES_AFTER, pending_in,
    };
    use crate::agent::autonomy::AutonomyLevel;
    use crate::gate::AskReason;
    use crate::id::{AgentId, ApprovalId, SessionId, UserId};
    use crate::time::Timestamp;
    use crate::tool::{Risk, ToolName};

    const ASKED: Timestamp = Timestamp::from_millis(0);
    const OWNER: UserId = UserId::from_u128(1);
    const ID: ApprovalId = ApprovalId::from_u128(2);
    const REFUND: ArgumentsHash = ArgumentsHash([1; 32]);
    const LARGER: ArgumentsHash = ArgumentsHash([2; 32]);

    fn approval() -> Approval {
        Approval {
            id: ID,
            session: SessionId::from_u128(3),
            agent: AgentId::from_u128(4),
            tool: ToolName::from_static("refund_payment"),
            risk: Risk::Destructive,
            why: AskReason::Autonomy { level: AutonomyLevel::Supervised, risk: Risk::Destructive },
            arguments: REFUND,
            requested_at: ASKED,
            expires_at: ASKED + EXPIRES_AFTER,
            status: ApprovalStatus::Pending,
        }
    }

    /// D06: an approved call runs exactly once, and only as it was approved.
    #[test]
    fn d06_an_approval_is_used_once_for_its_arguments() {
        let mut approval = approval();
        assert_eq!(approval.take(REFUND), Err(ApprovalError::NotUsable(ID)));
        approval.approve(OWNER, ASKED).unwrap();
        assert_eq!(approval.take(LARGER), Err(ApprovalError::OtherArguments(ID)));
        assert_eq!(approval.take(REFUND), Ok(()));
        assert_eq!(approval.take(REFUND), Err(ApprovalError::NotUsable(ID)));
        assert_eq!(approval.approve(OWNER, ASKED), Err(ApprovalError::NotPending(ID)));
    }

    /// D06: a rejection keeps its reason and ends it.
    #[test]
    fn d06_a_rejection_keeps_its_reason() {
        let mut approval = approval();
        approval.reject(OWNER, "too much", ASKED).unwrap();
        let reason = "too much".to_owned();
        assert_eq!(approval.status, ApprovalStatus::Rejected { by: OWNER, reason });
        assert_eq!(approval.approve(OWNER, ASKED), Err(ApprovalError::NotPending(ID)));
        assert_eq!(approval.take(REFUND), Err(ApprovalError::NotUsable(ID)));
    }

    #[test]
    fn an_edited_approval_is_for_the_edited_call() {
        let mut approval = approval();
        approval.approve_with(OWNER, LARGER, ASKED).unwrap();
        assert_eq!(approval.take(REFUND), Err(ApprovalError::OtherArguments(ID)));
        assert_eq!(approval.take(LARGER), Ok(()));
    }

    /// D07: pending for 24 h it expires, once, and can never run.
    #[test]
    fn d07_an_approval_expires_after_a_day() {
        let mut approval = approval();
        let end = ASKED + EXPIRES_AFTER;
        let before = Timestamp::from_millis(end.as_millis() - 1);
        assert!(!approval.expire(before));
        assert!(approval.expire(end));
        assert!(!approval.expire(end));
        assert_eq!(approval.approve(OWNER, end), Err(ApprovalError::NotPending(ID)));
        assert_eq!(approval.take(REFUND), Err(ApprovalError::NotUsable(ID)));
    }

    /// D07: a late yes does not count, even before the sweep has come by.
    #[test]
    fn d07_a_late_yes_does_not_count() {
        let mut approval = approval();
        let late = approval.approve(OWNER, ASKED + EXPIRES_AFTER);
        assert_eq!(late, Err(ApprovalError::JustExpired(ID)));
        assert_eq!(approval.status, ApprovalStatus::Expired);
        let later = approval.approve(OWNER, ASKED + EXPIRES_AFTER);
        assert_eq!(later, Err(ApprovalError::NotPending(ID)));
    }

    /// D04: the approval shows the level of risk.
    #[test]
    fn d04_an_approval_shows_its_risk() {
        let levels = [Risk::Read, Risk::Write, Risk::Destructive].map(Risk::level);
        assert_eq!(levels, ["low", "medium", "high"]);
        assert_eq!(approval().risk.level(), "high");
    }

    /// A24, D08: the pending ones of a session are counted, others are not.
    #[test]
    fn d08_pending_approvals_are_counted_by_session() {
        let here = approval();
        let elsewhere = Approval { session: SessionId::from_u128(9), ..approval() };
        let mut decided = approval();
        decided.reject(OWNER, "no", ASKED).unwrap();
        assert_eq!(pending_in(here.session, [&here, &elsewhere, &decided]), 1);
    }

    /// An approval keeps its form when it is stored, with one status.
    #[test]
    fn an_approval_survives_being_stored() {
        let mut approval = approval();
        approval.approve(OWNER, ASKED).unwrap();
        let stored = serde_json::to_value(&approval).unwrap();
        assert_eq!(stored["status"], "approved");
        assert_eq!(stored["arguments"], "01".repeat(32));
        assert_eq!(serde_json::from_value::<Approval>(stored).unwrap(), approval);
    }
}
