//! Changes a session at once. The session is read, changed and stored; if a turn was
//! committed meanwhile, it is read again.

use std::sync::Arc;

use ostler_domain::id::{RunId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use ostler_store::{
    FollowUpEntry, OperatorChange, SessionDue, StoreError, StoredSession, WithdrawnMessages,
};
use serde_json::{Value, json};

use super::{OperationError, OrgOperations, Result};
use crate::conversation::{RUN_RECORD_VERSION, next_due};
use crate::ids::fresh;
use crate::org_view::OrgView;
use crate::pending_commit::PendingCommit;
use crate::records::message::ThreadMessage;
use crate::records::run::{RunOutcome, RunRecord};
use crate::records::session::Session;
use crate::records::{UnreadableRecord, decode};

/// How often a session is read again before the change fails.
const MAX_ATTEMPTS: usize = 20;
/// How many of the last messages are loaded.
const MAX_MESSAGES: u32 = 100;

/// A session that is being changed.
pub(super) struct SessionChange {
    pub(super) view: Arc<OrgView>,
    pub(super) session: Session,
    /// The last messages, oldest first.
    pub(super) earlier: Vec<ThreadMessage>,
    pub(super) pending: PendingCommit,
    /// Entries that the conversation continues with.
    pub(super) inbox: Vec<FollowUpEntry>,
    pub(super) run: RunId,
    pub(super) now: Timestamp,
}

impl OrgOperations<'_> {
    /// Changes a session and returns the changed one. Fails with
    /// [`OperationError::Busy`] if the session keeps changing.
    pub(super) async fn change_session(
        &self,
        id: SessionId,
        action: &str,
        data: &Value,
        change: impl Fn(&mut SessionChange) -> Result<()>,
    ) -> Result<(Session, WithdrawnMessages)> {
        let store = self.authorize(OrgPermission::Operate).await?;
        for _ in 0..MAX_ATTEMPTS {
            let stored = store.session(id).await?;
            if let Some(run) = self.run_id
                && store.run(run).await.is_ok()
            {
                let nothing = WithdrawnMessages { withdrawn: 0, in_flight: Vec::new() };
                return Ok((decode("session", &stored.data)?, nothing));
            }
            let mut changed = self.load_session(&stored).await?;
            let before = audit_data(&changed.session);
            change(&mut changed)?;
            changed.session.sync_clock(changed.now);
            let session = changed.session.clone();
            let mut data = data.clone();
            data["before"] = before;
            data["after"] = audit_data(&session);
            let takeover = self.takeover_change(stored, changed, action, &data);
            match store.apply_operator_change(takeover).await {
                Err(StoreError::ConversationChanged) => {}
                // The same request came twice at once, and the other one was stored.
                Err(StoreError::Conflict(_)) if self.run_id.is_some() => {}
                Err(other) => return Err(other.into()),
                Ok(silenced) => {
                    self.inner().running_turns.abort(id);
                    self.inner().bell.ring_for(&session.key());
                    return Ok((session, silenced));
                }
            }
        }
        Err(OperationError::Busy)
    }

    async fn load_session(&self, stored: &StoredSession) -> Result<SessionChange> {
        let store = self.inner().store.org(self.org);
        let mut session: Session = decode("session", &stored.data)?;
        let messages = store.last_messages(session.thread, MAX_MESSAGES).await?;
        let earlier = messages.iter().map(|one| decode("message", &one.data));
        let earlier = earlier.collect::<std::result::Result<Vec<_>, UnreadableRecord>>()?;
        let pending = store.count_pending_approvals(Some(session.id)).await?;
        session.pending_approvals = u32::try_from(pending).unwrap_or(u32::MAX);
        let unknown = store.count_unknown_outcomes(session.conversation).await?;
        session.unknown_outcomes = u32::try_from(unknown).unwrap_or(u32::MAX);
        Ok(SessionChange {
            view: self.view().await?,
            session,
            earlier,
            pending: PendingCommit::default(),
            inbox: Vec::new(),
            run: self.run_id.unwrap_or_else(|| fresh(RunId::from_u128)),
            now: self.inner().clock.now(),
        })
    }

    fn takeover_change(
        &self,
        stored: StoredSession,
        changed: SessionChange,
        action: &str,
        data: &Value,
    ) -> OperatorChange {
        let SessionChange { view, session, pending, inbox, run, now, .. } = changed;
        let record = RunRecord {
            v: RUN_RECORD_VERSION,
            id: run,
            session: session.id,
            at: now,
            input: Vec::new(),
            outcome: RunOutcome::Housekeeping { what: action.to_owned() },
            steps: Vec::new(),
            turns: Vec::new(),
            side_turns: Vec::new(),
            credits: Credits::ZERO,
        };
        OperatorChange {
            read: stored,
            session: session.to_state(),
            due: next_due(&view, &session, now).map_or(SessionDue::Never, SessionDue::At),
            run: record.to_stored(),
            messages: pending.messages,
            outbox: pending.outbox,
            events: pending.events,
            inbox,
            audit: self.audit_entry(action, &session.id, data),
        }
    }
}

/// Returns what the audit log keeps of a session.
fn audit_data(session: &Session) -> Value {
    json!({"status": session.status, "escalation": session.escalation.as_ref().map(|one| &one.state.status)})
}
