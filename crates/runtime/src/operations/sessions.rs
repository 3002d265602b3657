//! Sessions: listing, showing and closing them, and assigning a team.

use ostler_domain::event::{OrgEvent, SessionClosed};
use ostler_domain::id::{AgentId, SessionId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::StatusChange;
use ostler_domain::team::TeamSession;
use ostler_store::{SessionFilter, StoredApproval};
use serde::Serialize;
use serde_json::json;

use super::session_change::SessionChange;
use super::{OperationError, OrgOperations, Result, follow_up_entry};
use crate::ids::fresh;
use crate::records::entry::InboxEntry;
use crate::records::message::ThreadMessage;
use crate::records::run::RunRecord;
use crate::records::session::Session;
use crate::records::{UnreadableRecord, decode};

/// How many messages and runs of a session are returned.
const MAX_DETAIL: u32 = 200;

/// A session with its messages, runs and open approvals.
#[derive(Debug, Clone, Serialize)]
pub struct SessionDetail {
    pub session: Session,
    /// Its last messages, oldest first.
    pub messages: Vec<ThreadMessage>,
    /// Its last runs with every decision, oldest first.
    pub runs: Vec<RunRecord>,
    pub approvals: Vec<StoredApproval>,
}

impl OrgOperations<'_> {
    /// Returns a page of sessions, newest first. `before` is the last one of the page before.
    /// What waits for people is counted now, because the stored sessions may be older.
    pub async fn sessions(
        &self,
        which: SessionFilter,
        before: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<Session>> {
        let store = self.authorize(OrgPermission::View).await?;
        let stored = store.sessions(which, before, limit).await?;
        let mut sessions: Vec<Session> =
            decode_each("session", stored.iter().map(|one| one.data.as_str()))?;
        for session in &mut sessions {
            session.refresh_counts(store).await?;
        }
        Ok(sessions)
    }

    /// Returns a session with its messages, runs and open approvals. The approvals are counted
    /// now, because the stored session may be older.
    pub async fn session(&self, id: SessionId) -> Result<SessionDetail> {
        let store = self.authorize(OrgPermission::View).await?;
        // Runs first, so that their messages are there when those are read.
        let runs = store.runs(id, None, MAX_DETAIL).await?;
        let mut session: Session = decode("session", &store.session(id).await?.data)?;
        let messages = store.last_messages(session.thread, MAX_DETAIL).await?;
        session.refresh_counts(store).await?;
        Ok(SessionDetail {
            session,
            messages: decode_each("message", messages.iter().map(|one| one.data.as_str()))?,
            runs: runs
                .iter()
                .rev()
                .map(RunRecord::from_stored)
                .collect::<std::result::Result<_, _>>()?,
            approvals: store.pending_approvals(id, None, MAX_DETAIL).await?,
        })
    }

    /// Closes a session. The next message of the customer opens a new one. Calls of the
    /// session that wait for a person, or were approved and not made, are withdrawn.
    pub async fn close(&self, id: SessionId) -> Result<Session> {
        let reason = CloseReason::ClosedByOperator;
        let data = json!({"reason": reason});
        let change = |change: &mut SessionChange| {
            change.session.status = change.session.status.after(StatusChange::Close(reason))?;
            change.session.drop_approvals();
            let closed = SessionClosed { session: change.session.id, reason };
            change.pending.add_event(&OrgEvent::SessionClosed(closed));
            if change.view.settings.close.summarizes(change.session.messages as usize) {
                let key = format!("summary:{}", change.session.id);
                change.inbox.push(follow_up_entry(key, &InboxEntry::Tick));
            }
            Ok(())
        };
        Ok(self.change_session(id, "close_session", &data, change).await?.0)
    }

    /// Makes these agents, named by id, slug or subtype, the team of a session. The first of
    /// them answers from the next message on.
    pub async fn assign(&self, id: SessionId, agents: &[&str]) -> Result<Vec<AgentId>> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let session: Session = decode("session", &store.session(id).await?.data)?;
        if let closed @ ostler_domain::session::status::SessionStatus::Closed(_) = session.status {
            closed.after(StatusChange::TakeOver)?;
        }
        let view = self.view().await?;
        let found = agents.iter().map(|name| {
            let found = view.find_agent(name).map(|one| &one.agent);
            found.ok_or_else(|| OperationError::NoAgent((*name).to_owned()))
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        let config = view.settings.team.clone().unwrap_or_default();
        let team = TeamSession::assemble(id, self.org, &found, config.budget)?;
        let agents = team.participants().to_vec();
        let by = self.actor.user_id();
        let entry = InboxEntry::TeamAssigned { agents: agents.clone(), by };
        let key = format!("assigned:{}", fresh(ostler_domain::id::InboxId::from_u128));
        let audit = self.audit_entry("assign_team", &id, &json!({"agents": agents}));
        store
            .audited(audit)
            .continue_conversation(session.conversation, follow_up_entry(key, &entry))
            .await?;
        self.inner().bell.ring_for(&session.key());
        Ok(agents)
    }
}

/// Decodes stored values.
pub(super) fn decode_each<'t, T: serde::de::DeserializeOwned>(
    what: &'static str,
    texts: impl Iterator<Item = &'t str>,
) -> std::result::Result<Vec<T>, UnreadableRecord> {
    texts.map(|text| decode(what, text)).collect()
}
