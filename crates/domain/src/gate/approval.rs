//! Approvals: a tool call that waits for a person, its expiry and its single use.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AskReason;
use crate::id::{AgentId, ApprovalId, InboxId, SessionId, UserId};
use crate::time::Timestamp;
use crate::tool::{Risk, ToolName};

/// The default time until an approval expires.
pub const DEFAULT_APPROVAL_TTL: Duration = Duration::from_secs(24 * 3600);

/// A hash of a call's exact arguments, computed by the engine. Serialized as 64
/// hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArgumentsHash(pub [u8; 32]);

/// A text that is not a hash of arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a hash of arguments has 64 hexadecimal digits")]
pub struct InvalidArgumentsHash;

impl From<ArgumentsHash> for String {
    fn from(hash: ArgumentsHash) -> Self {
        hash.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for ArgumentsHash {
    type Error = InvalidArgumentsHash;

    fn try_from(text: String) -> Result<Self, InvalidArgumentsHash> {
        let mut hash = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(InvalidArgumentsHash);
        }
        for (index, byte) in hash.iter_mut().enumerate() {
            let digits = &text[2 * index..2 * index + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| InvalidArgumentsHash)?;
        }
        Ok(Self(hash))
    }
}

/// The status of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ApprovalStatus {
    Pending,
    /// Approved; the call has not run yet.
    Approved {
        by: UserId,
    },
    /// The call has run or is running; it cannot run again.
    Used {
        /// Who approved it.
        by: UserId,
        /// The inbox entry whose run makes the call. Later attempts of that run
        /// continue the call; no other entry may.
        entry: InboxId,
    },
    Rejected {
        by: UserId,
        /// The agent is told.
        reason: String,
    },
    /// Nobody decided in time, or the approved call was not made in time.
    Expired {
        /// Who had approved it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved_by: Option<UserId>,
    },
    /// Its session ended before the call was made; it can never run.
    Withdrawn,
}

/// A tool call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub session: SessionId,
    pub agent: AgentId,
    pub tool: ToolName,
    pub risk: Risk,
    pub ask_reason: AskReason,
    /// Only a call with these arguments may use it.
    pub arguments: ArgumentsHash,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(flatten)]
    pub status: ApprovalStatus,
}

/// How an approval ended that is not pending any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndedApproval {
    #[error("was approved already")]
    Approved,
    #[error("was approved already, and its call was made")]
    Used,
    #[error("was rejected already")]
    Rejected,
    #[error("has expired")]
    Expired,
}

/// The reason why an approval cannot be decided or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// It has been decided or has expired.
    #[error("{0} {1}; nothing was changed")]
    NotPending(ApprovalId, EndedApproval),
    /// It expired only now, when somebody tried to decide it. The customer and the
    /// owner are to be notified.
    #[error("{0} has expired; nothing was run")]
    JustExpired(ApprovalId),
    #[error("{0} ended with its session, which is closed; nothing was run")]
    Withdrawn(ApprovalId),
    #[error("{0} is not approved, or has been used")]
    NotUsable(ApprovalId),
    /// The arguments are not those that were approved.
    #[error("{0} is for other arguments")]
    OtherArguments(ApprovalId),
}

impl Approval {
    /// Returns whether it waits for a decision.
    pub fn is_pending(&self) -> bool {
        self.status == ApprovalStatus::Pending
    }

    fn decide(&mut self, status: ApprovalStatus, now: Timestamp) -> Result<(), ApprovalError> {
        let ended = match self.status {
            ApprovalStatus::Pending => None,
            ApprovalStatus::Withdrawn => return Err(ApprovalError::Withdrawn(self.id)),
            ApprovalStatus::Approved { .. } => Some(EndedApproval::Approved),
            ApprovalStatus::Used { .. } => Some(EndedApproval::Used),
            ApprovalStatus::Rejected { .. } => Some(EndedApproval::Rejected),
            ApprovalStatus::Expired { .. } => Some(EndedApproval::Expired),
        };
        if let Some(ended) = ended {
            return Err(ApprovalError::NotPending(self.id, ended));
        }
        if self.expire(now) {
            return Err(ApprovalError::JustExpired(self.id));
        }
        self.status = status;
        Ok(())
    }

    /// Approves the call. The call has to be made within the time that the decision had,
    /// counted from now. Fails if it is not pending or has expired.
    pub fn approve(&mut self, by: UserId, now: Timestamp) -> Result<(), ApprovalError> {
        self.decide(ApprovalStatus::Approved { by }, now)?;
        self.expires_at = now + self.expires_at.since(self.requested_at);
        Ok(())
    }

    /// Approves the call with other arguments than were requested.
    pub fn approve_with_arguments(
        &mut self,
        by: UserId,
        arguments: ArgumentsHash,
        now: Timestamp,
    ) -> Result<(), ApprovalError> {
        self.approve(by, now)?;
        self.arguments = arguments;
        Ok(())
    }

    /// Rejects the call. Fails if it is not pending or has expired.
    pub fn reject(
        &mut self,
        by: UserId,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), ApprovalError> {
        self.decide(ApprovalStatus::Rejected { by, reason: reason.to_owned() }, now)
    }

    /// Expires an approval that is pending, or approved and unused, and whose time is
    /// over. Returns whether it expired just now, so that the customer and the owner are
    /// notified once.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let approved_by = match self.status {
            ApprovalStatus::Pending => None,
            ApprovalStatus::Approved { by } => Some(by),
            _ => return false,
        };
        let expired = now >= self.expires_at;
        if expired {
            self.status = ApprovalStatus::Expired { approved_by };
        }
        expired
    }

    /// Withdraws an approval that is pending, or approved and unused, because its session
    /// ended. Returns whether that changed it.
    pub fn withdraw(&mut self) -> bool {
        let open = matches!(self.status, ApprovalStatus::Pending | ApprovalStatus::Approved { .. });
        if open {
            self.status = ApprovalStatus::Withdrawn;
        }
        open
    }

    /// Marks it as used by the run of an inbox entry, for a call with these arguments.
    /// The same entry may use it again, because its run may be repeated until it is
    /// committed. Fails if it is not approved, is out of date, was used by another entry,
    /// or was approved for other arguments.
    pub fn consume(
        &mut self,
        arguments: ArgumentsHash,
        entry: InboxId,
        now: Timestamp,
    ) -> Result<(), ApprovalError> {
        let by = match self.status {
            ApprovalStatus::Approved { by } if now < self.expires_at => by,
            ApprovalStatus::Used { by, entry: user } if user == entry => by,
            _ => return Err(ApprovalError::NotUsable(self.id)),
        };
        if arguments != self.arguments {
            return Err(ApprovalError::OtherArguments(self.id));
        }
        self.status = ApprovalStatus::Used { by, entry };
        Ok(())
    }
}

/// Counts the pending approvals of a session.
pub fn count_pending<'a>(
    session: SessionId,
    approvals: impl IntoIterator<Item = &'a Approval>,
) -> usize {
    let is_counted = |approval: &&Approval| approval.session == session && approval.is_pending();
    approvals.into_iter().filter(is_counted).count()
}

#[cfg(test)]
mod tests {
    use super::{
        Approval, ApprovalError, ApprovalStatus, ArgumentsHash, DEFAULT_APPROVAL_TTL,
        EndedApproval, count_pending,
    };
    use crate::agent::autonomy::AutonomyLevel;
    use crate::gate::AskReason;
    use crate::id::{AgentId, ApprovalId, InboxId, SessionId, UserId};
    use crate::time::Timestamp;
    use crate::tool::{Risk, ToolName};

    const REQUESTED_AT: Timestamp = Timestamp::from_millis(0);
    const OWNER: UserId = UserId::from_u128(1);
    const ID: ApprovalId = ApprovalId::from_u128(2);
    const REFUND: ArgumentsHash = ArgumentsHash([1; 32]);
    const LARGER: ArgumentsHash = ArgumentsHash([2; 32]);
    const ENTRY: InboxId = InboxId::from_u128(9);

    fn approval() -> Approval {
        Approval {
            id: ID,
            session: SessionId::from_u128(3),
            agent: AgentId::from_u128(4),
            tool: ToolName::from_static("refund_payment"),
            risk: Risk::Destructive,
            ask_reason: AskReason::Autonomy {
                level: AutonomyLevel::Supervised,
                risk: Risk::Destructive,
            },
            arguments: REFUND,
            requested_at: REQUESTED_AT,
            expires_at: REQUESTED_AT + DEFAULT_APPROVAL_TTL,
            status: ApprovalStatus::Pending,
        }
    }

    /// D06: an approved call runs exactly once, and only as it was approved.
    #[test]
    fn d06_an_approval_is_used_once_for_its_arguments() {
        let mut approval = approval();
        let (first, second) = (InboxId::from_u128(1), InboxId::from_u128(2));
        assert_eq!(
            approval.consume(REFUND, first, REQUESTED_AT),
            Err(ApprovalError::NotUsable(ID))
        );
        approval.approve(OWNER, REQUESTED_AT).unwrap();
        assert_eq!(
            approval.consume(LARGER, first, REQUESTED_AT),
            Err(ApprovalError::OtherArguments(ID))
        );
        assert_eq!(approval.consume(REFUND, first, REQUESTED_AT), Ok(()));
        assert_eq!(
            approval.consume(REFUND, second, REQUESTED_AT),
            Err(ApprovalError::NotUsable(ID))
        );
        assert_eq!(
            approval.consume(LARGER, first, REQUESTED_AT),
            Err(ApprovalError::OtherArguments(ID))
        );
        assert_eq!(
            approval.consume(REFUND, first, REQUESTED_AT),
            Ok(()),
            "a repeated run continues"
        );
        assert_eq!(
            approval.approve(OWNER, REQUESTED_AT),
            Err(ApprovalError::NotPending(ID, EndedApproval::Used))
        );
    }

    /// D06: a rejection keeps its reason and ends it.
    #[test]
    fn d06_a_rejection_keeps_its_reason() {
        let mut approval = approval();
        approval.reject(OWNER, "too much", REQUESTED_AT).unwrap();
        let reason = "too much".to_owned();
        assert_eq!(approval.status, ApprovalStatus::Rejected { by: OWNER, reason });
        assert_eq!(
            approval.approve(OWNER, REQUESTED_AT),
            Err(ApprovalError::NotPending(ID, EndedApproval::Rejected))
        );
        assert_eq!(
            approval.consume(REFUND, ENTRY, REQUESTED_AT),
            Err(ApprovalError::NotUsable(ID))
        );
    }

    #[test]
    fn an_approval_with_edited_arguments_is_for_the_edited_call() {
        let mut approval = approval();
        approval.approve_with_arguments(OWNER, LARGER, REQUESTED_AT).unwrap();
        assert_eq!(
            approval.consume(REFUND, ENTRY, REQUESTED_AT),
            Err(ApprovalError::OtherArguments(ID))
        );
        assert_eq!(approval.consume(LARGER, ENTRY, REQUESTED_AT), Ok(()));
    }

    /// D07: pending for 24 h it expires, once, and can never run.
    #[test]
    fn d07_an_approval_expires_after_a_day() {
        let mut approval = approval();
        let end = REQUESTED_AT + DEFAULT_APPROVAL_TTL;
        let before = Timestamp::from_millis(end.as_millis() - 1);
        assert!(!approval.expire(before));
        assert!(approval.expire(end));
        assert!(!approval.expire(end));
        assert_eq!(
            approval.approve(OWNER, end),
            Err(ApprovalError::NotPending(ID, EndedApproval::Expired))
        );
        assert_eq!(
            approval.consume(REFUND, ENTRY, REQUESTED_AT),
            Err(ApprovalError::NotUsable(ID))
        );
    }

    /// D07: an approval after the expiry is refused, even before the sweep.
    #[test]
    fn d07_an_approval_after_expiry_is_refused() {
        let mut approval = approval();
        let late = approval.approve(OWNER, REQUESTED_AT + DEFAULT_APPROVAL_TTL);
        assert_eq!(late, Err(ApprovalError::JustExpired(ID)));
        assert_eq!(approval.status, ApprovalStatus::Expired { approved_by: None });
        let later = approval.approve(OWNER, REQUESTED_AT + DEFAULT_APPROVAL_TTL);
        assert_eq!(later, Err(ApprovalError::NotPending(ID, EndedApproval::Expired)));
    }

    /// D07: an approved call that is not made in time, counted from the decision, expires
    /// and can never run.
    #[test]
    fn d07_an_approved_call_expires_unless_it_is_made() {
        let mut approval = approval();
        let decided = REQUESTED_AT + DEFAULT_APPROVAL_TTL / 2;
        approval.approve(OWNER, decided).unwrap();
        let end = decided + DEFAULT_APPROVAL_TTL;
        assert!(!approval.expire(Timestamp::from_millis(end.as_millis() - 1)));
        assert_eq!(approval.consume(REFUND, ENTRY, end), Err(ApprovalError::NotUsable(ID)));
        assert!(approval.expire(end));
        assert!(!approval.expire(end));
        assert_eq!(approval.status, ApprovalStatus::Expired { approved_by: Some(OWNER) });
        assert_eq!(approval.consume(REFUND, ENTRY, decided), Err(ApprovalError::NotUsable(ID)));
    }

    /// O28: an approval ends with its session unless its call was made, and no status
    /// leads back.
    #[test]
    fn o28_an_approval_is_withdrawn_unless_it_was_used() {
        let (reason, now) = ("no".to_owned(), REQUESTED_AT);
        let table = [
            (ApprovalStatus::Pending, true),
            (ApprovalStatus::Approved { by: OWNER }, true),
            (ApprovalStatus::Used { by: OWNER, entry: ENTRY }, false),
            (ApprovalStatus::Rejected { by: OWNER, reason }, false),
            (ApprovalStatus::Expired { approved_by: None }, false),
            (ApprovalStatus::Withdrawn, false),
        ];
        for (status, withdrawn) in table {
            let mut approval = Approval { status: status.clone(), ..approval() };
            assert_eq!(approval.withdraw(), withdrawn, "{status:?}");
            if withdrawn {
                assert_eq!(approval.approve(OWNER, now), Err(ApprovalError::Withdrawn(ID)));
                assert_eq!(approval.reject(OWNER, "", now), Err(ApprovalError::Withdrawn(ID)));
                assert_eq!(approval.consume(REFUND, ENTRY, now), Err(ApprovalError::NotUsable(ID)));
                assert!(!approval.expire(now + DEFAULT_APPROVAL_TTL));
            }
        }
    }

    /// D04: the approval shows its risk.
    #[test]
    fn d04_an_approval_shows_its_risk() {
        let names = [Risk::Read, Risk::Write, Risk::Destructive].map(Risk::name);
        assert_eq!(names, ["read", "write", "destructive"]);
        assert_eq!(approval().risk.name(), "destructive");
    }

    /// A24, D08: only the pending approvals of the session are counted.
    #[test]
    fn d08_pending_approvals_are_counted_by_session() {
        let here = approval();
        let elsewhere = Approval { session: SessionId::from_u128(9), ..approval() };
        let mut decided = approval();
        decided.reject(OWNER, "no", REQUESTED_AT).unwrap();
        assert_eq!(count_pending(here.session, [&here, &elsewhere, &decided]), 1);
    }

    /// An approval reads back as it was stored, with a flat status.
    #[test]
    fn an_approval_reads_back_as_it_was_stored() {
        let mut approval = approval();
        approval.approve(OWNER, REQUESTED_AT).unwrap();
        let stored = serde_json::to_value(&approval).unwrap();
        assert_eq!(stored["status"], "approved");
        assert_eq!(stored["arguments"], "01".repeat(32));
        assert_eq!(serde_json::from_value::<Approval>(stored).unwrap(), approval);
    }
}
