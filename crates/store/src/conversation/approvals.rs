//! Approvals: tool calls that wait for a person, with their arguments.

use ostler_domain::event::{ApprovalDecided, ApprovalExpired, OrgEvent};
use ostler_domain::gate::approval::{Approval, ApprovalError, ApprovalStatus, ArgumentsHash};
use ostler_domain::id::{ApprovalId, InboxId, OrgId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::job::StoreFuture;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::conversation::decisions::{self, Decision, DecisionState};
use crate::conversation::inbox::{self, FollowUpEntry};
use crate::conversation::turn::NewEvent;
use crate::error::{Result, StoreError};
use crate::events;
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::{OrgStore, Store};

/// An approval with the arguments of its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredApproval {
    /// Its times are the database's, not those of the node that asked.
    pub approval: Approval,
    /// JSON.
    pub payload: String,
}

/// The decision of a person on an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalVerdict {
    Approve,
    /// Approves the call with other arguments; `payload` is JSON.
    ApproveWith {
        arguments: ArgumentsHash,
        payload: String,
    },
    /// Rejects the call; the agent learns the reason.
    Reject {
        reason: String,
    },
}

/// The inbox entries with which a conversation continues after a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionFollowUp {
    pub decided: FollowUpEntry,
    /// Added instead if the approval has expired unnoticed.
    pub expired: FollowUpEntry,
}

const LOCK_CONVERSATION: Sql = Sql {
    sqlite: "SELECT c.id FROM conversations c JOIN sessions s
         ON s.org = c.org AND s.conversation = c.id
       WHERE s.org = ?1 AND s.id = ?2",
    postgres: "SELECT c.id FROM conversations c JOIN sessions s
         ON s.org = c.org AND s.conversation = c.id
       WHERE s.org = $1 AND s.id = $2 FOR UPDATE OF c",
};

impl OrgStore<'_> {
    /// Stores a new approval.
    pub fn create_approval(&self, approval: StoredApproval) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| decisions::create(tx, org, approval.clone()))
    }

    /// Returns an approval.
    pub fn approval(&self, id: ApprovalId) -> StoreFuture<StoredApproval> {
        let org = self.org;
        self.read(move |tx| decisions::get(tx, org, id.into()))
    }

    /// Lists the approvals in a state, oldest first.
    pub fn approvals(
        &self,
        state: DecisionState,
        after: Option<ApprovalId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredApproval>> {
        let (org, after) = (self.org, after.unwrap_or(ApprovalId::from_u128(0)));
        self.read(move |tx| decisions::list(tx, org, state, after.into(), limit))
    }

    /// Lists the pending approvals of a session, oldest first.
    pub fn pending_approvals(
        &self,
        session: SessionId,
        after: Option<ApprovalId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredApproval>> {
        let (org, after) = (self.org, after.unwrap_or(ApprovalId::from_u128(0)));
        self.read(move |tx| {
            decisions::pending_by_subject(tx, org, session.into(), after.into(), limit)
        })
    }

    /// Returns the number of pending approvals, of the org or of one session.
    pub fn count_pending_approvals(&self, session: Option<SessionId>) -> StoreFuture<u64> {
        let org = self.org;
        self.read(move |tx| decisions::count::<StoredApproval>(tx, org, session.map(Value::from)))
    }

    /// Decides an approval; the first decision counts.
    pub async fn decide_approval(
        &self,
        id: ApprovalId,
        by: UserId,
        verdict: ApprovalVerdict,
    ) -> Result<StoredApproval> {
        let org = self.org;
        Ok(self.write(move |tx| decide(tx, org, id, by, &verdict)).await??)
    }

    /// Decides an approval, adds an entry to the inbox of its conversation and `audit` to
    /// the audit trail, in one transaction. If the approval has expired unnoticed, the
    /// entry for that is added and the decision fails.
    pub async fn decide_approval_with_follow_up(
        &self,
        id: ApprovalId,
        by: UserId,
        verdict: ApprovalVerdict,
        follow_up: DecisionFollowUp,
        audit: NewAuditEntry,
    ) -> Result<StoredApproval> {
        let org = self.org;
        let decided = self.write(move |tx| {
            let stored: StoredApproval = decisions::get(tx, org, id.into())?;
            let session = stored.approval.session;
            // Closing a session locks its conversation first, too.
            tx.first(&LOCK_CONVERSATION, &[org.into(), session.into()])?;
            let decided = decide(tx, org, id, by, &verdict)?;
            match decided {
                Ok(ref stored) => {
                    add_follow_up(tx, org, session, &follow_up.decided)?;
                    let event = decided_event(&stored.approval, by);
                    tx.batch(&[audit::append(org, &audit)?, append_event(org, &event)?])?;
                }
                Err(ApprovalError::JustExpired(_)) => {
                    add_follow_up(tx, org, session, &follow_up.expired)?;
                    tx.batch(&[append_event(org, &expired_event(&stored.approval))?])?;
                }
                Err(_) => {}
            }
            Ok(decided)
        });
        Ok(decided.await??)
    }

    /// Uses an approval for a call with these arguments, in the run of an inbox entry.
    /// Succeeds for one entry only, and for that one again.
    pub async fn use_approval(
        &self,
        id: ApprovalId,
        arguments: ArgumentsHash,
        entry: InboxId,
    ) -> Result<StoredApproval> {
        let org = self.org;
        let used = self.write(move |tx| {
            let use_up =
                |stored: &mut StoredApproval, now| stored.approval.consume(arguments, entry, now);
            decisions::change(tx, org, id, use_up)
        });
        Ok(used.await??)
    }
}

impl Store {
    /// Expires overdue approvals of all orgs, the longest overdue first, and returns
    /// them. Adds the entry that `follow_up` makes of each to the inbox of its
    /// conversation, in the same transaction.
    pub fn expire_approvals(
        &self,
        limit: u32,
        follow_up: fn(&StoredApproval) -> Option<FollowUpEntry>,
    ) -> StoreFuture<Vec<(OrgId, StoredApproval)>> {
        self.write_all_orgs(move |tx| {
            let expired = decisions::expire::<StoredApproval>(tx, limit)?;
            for (org, stored) in &expired {
                if let Some(follow_up) = follow_up(stored) {
                    add_follow_up(tx, *org, stored.approval.session, &follow_up)?;
                }
                tx.batch(&[append_event(*org, &expired_event(&stored.approval))?])?;
            }
            Ok(expired)
        })
    }
}

fn append_event(org: OrgId, event: &OrgEvent) -> Result<Statement> {
    events::append_alone(org, &NewEvent::new(event))
}

fn decided_event(approval: &Approval, by: UserId) -> OrgEvent {
    let Approval { id, session, agent, tool, .. } = approval;
    let approved = !matches!(approval.status, ApprovalStatus::Rejected { .. });
    let (approval, session, agent, tool) = (*id, *session, *agent, tool.clone());
    OrgEvent::ApprovalDecided(ApprovalDecided { approval, session, agent, tool, approved, by })
}

fn expired_event(approval: &Approval) -> OrgEvent {
    let Approval { id, session, agent, tool, .. } = approval;
    let (approval, session, agent, tool) = (*id, *session, *agent, tool.clone());
    OrgEvent::ApprovalExpired(ApprovalExpired { approval, session, agent, tool })
}

fn decide(
    tx: &Tx,
    org: OrgId,
    id: ApprovalId,
    by: UserId,
    verdict: &ApprovalVerdict,
) -> Result<std::result::Result<StoredApproval, ApprovalError>> {
    decisions::change(tx, org, id, |stored: &mut StoredApproval, now| {
        let approval = &mut stored.approval;
        match verdict {
            ApprovalVerdict::Approve => approval.approve(by, now),
            ApprovalVerdict::Reject { reason } => approval.reject(by, reason, now),
            ApprovalVerdict::ApproveWith { arguments, payload } => {
                approval.approve_with_arguments(by, *arguments, now)?;
                stored.payload.clone_from(payload);
                Ok(())
            }
        }
    })
}

/// Withdraws the approvals of a session that is being closed, except those whose calls
/// were made. The caller has locked the conversation.
pub(crate) fn withdraw_for_session(tx: &Tx, org: OrgId, session: SessionId) -> Result<()> {
    decisions::withdraw_by_subject(tx, org, session.into(), |stored: &mut StoredApproval| {
        stored.approval.withdraw()
    })
}

/// Adds an entry to the inbox of a session's conversation, unless the session was
/// deleted.
fn add_follow_up(tx: &Tx, org: OrgId, session: SessionId, follow_up: &FollowUpEntry) -> Result<()> {
    match inbox::conversation_of(tx, org, session) {
        Ok(conversation) => inbox::add_follow_up(tx, org, conversation, follow_up).map(drop),
        Err(StoreError::NotFound(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

impl Decision for StoredApproval {
    const KIND: &'static str = "approval";
    const EXPIRES_IN: &'static [DecisionState] = &[DecisionState::Pending, DecisionState::Approved];

    fn keys(&self) -> [Value; 3] {
        [self.approval.id.into(), self.approval.session.into(), self.approval.agent.into()]
    }

    fn state(&self) -> DecisionState {
        match self.approval.status {
            ApprovalStatus::Pending => DecisionState::Pending,
            ApprovalStatus::Approved { .. } => DecisionState::Approved,
            ApprovalStatus::Used { .. } => DecisionState::Used,
            ApprovalStatus::Rejected { .. } => DecisionState::Rejected,
            ApprovalStatus::Expired { .. } => DecisionState::Expired,
            ApprovalStatus::Withdrawn => DecisionState::Withdrawn,
        }
    }

    fn times(&mut self) -> (&mut Timestamp, &mut Timestamp) {
        (&mut self.approval.requested_at, &mut self.approval.expires_at)
    }

    fn expire(&mut self, now: Timestamp) -> bool {
        self.approval.expire(now)
    }
}
