//! Sessions: looking at them, ending them, putting a team into one.

use ostler_domain::id::{AgentId, SessionId};
use ostler_domain::org::duty::Duty;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::StatusChange;
use ostler_domain::team::TeamSession;
use ostler_store::{StoredApproval, Which};
use serde::Serialize;
use serde_json::json;

use super::{Office, OperationError, Result, goes_on};
use crate::ids::fresh;
use crate::talk::entry::Entry;
use crate::talk::message::ThreadMessage;
use crate::talk::run::RunRecord;
use crate::talk::session::Session;
use crate::talk::{Unreadable, read};

/// How many messages and runs of a session are shown.
const SHOWN: u32 = 200;

/// A session with all that a screen shows of it.
#[derive(Debug, Clone, Serialize)]
pub struct SessionDetail {
    /// The session.
    pub session: Session,
    /// Its last messages, oldest first.
    pub messages: Vec<ThreadMessage>,
    /// Its last runs with every decision, oldest first.
    pub runs: Vec<RunRecord>,
    /// Calls that wait for a person.
    pub approvals: Vec<StoredApproval>,
}

impl Office<'_> {
    /// Sessions, newest first; those before the last one of the page before.
    pub async fn sessions(
        &self,
        which: Which,
        before: Option<SessionId>,
        most: u32,
    ) -> Result<Vec<Session>> {
        let store = self.allowed(Duty::Look).await?;
        let stored = store.sessions(which, before, most).await?;
        Ok(read_each("session", stored.iter().map(|one| one.data.as_str()))?)
    }

    /// A session with its messages, its runs, and what waits for a person. What
    /// waits is counted now, whatever the session said when it was stored.
    pub async fn session(&self, id: SessionId) -> Result<SessionDetail> {
        let store = self.allowed(Duty::Look).await?;
        // Runs first: what they said and did to the session is there by then.
        let runs = store.runs(id, None, SHOWN).await?;
        let mut session: Session = read("session", &store.session(id).await?.data)?;
        let messages = store.last_messages(session.thread, SHOWN).await?;
        let pending = store.count_pending_approvals(Some(id)).await?;
        session.pending_approvals = u32::try_from(pending).unwrap_or(u32::MAX);
        Ok(SessionDetail {
            session,
            messages: read_each("message", messages.iter().map(|one| one.data.as_str()))?,
            runs: read_each("run", runs.iter().rev().map(|one| one.data.as_str()))?,
            approvals: store.pending_approvals(id, None, SHOWN).await?,
        })
    }

    /// Ends a session. Whoever writes again is in a new one.
    pub async fn close(&self, id: SessionId) -> Result<Session> {
        let reason = CloseReason::ClosedByOperator;
        let data = json!({"reason": reason});
        let change = |step: &mut super::step_in::Step| {
            step.session.status = step.session.status.after(StatusChange::Close(reason))?;
            let closed = json!({"session": step.session.id, "reason": reason});
            step.draft.happened("session_closed", closed);
            if step.view.settings.close.summarizes(step.session.messages as usize) {
                let repeat = format!("summary:{}", step.session.id);
                step.inbox.push(goes_on(repeat, &Entry::Tick));
            }
            Ok(())
        };
        Ok(self.step_in(id, "close_session", &data, change).await?.0)
    }

    /// Makes these agents, named by id, slug or subtype, the team of a session;
    /// the first of them answers from the next message on.
    pub async fn assign(&self, id: SessionId, agents: &[&str]) -> Result<Vec<AgentId>> {
        let store = self.allowed(Duty::Work).await?;
        let session: Session = read("session", &store.session(id).await?.data)?;
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
        let by = self.actor.person();
        let entry = Entry::Assigned { agents: agents.clone(), by };
        let repeat = format!("assigned:{}", fresh(ostler_domain::id::InboxId::from_u128));
        let line = self.line("assign_team", &id, &json!({"agents": agents}));
        store.audited(line).go_on(session.conversation, goes_on(repeat, &entry)).await?;
        self.inner().bell.ring_for(&session.key());
        Ok(agents)
    }
}

/// Reads each of some stored values.
pub(super) fn read_each<'t, T: serde::de::DeserializeOwned>(
    what: &'static str,
    texts: impl Iterator<Item = &'t str>,
) -> std::result::Result<Vec<T>, Unreadable> {
    texts.map(|text| read(what, text)).collect()
}
