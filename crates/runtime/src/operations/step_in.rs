//! Stepping into a conversation: a session is read, changed and stored, unless
//! it changed meanwhile; then it is read again.

use std::sync::Arc;

use ostler_domain::id::{RunId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::org::duty::Duty;
use ostler_domain::time::Timestamp;
use ostler_store::{Due, GoesOn, Intervention, NewRun, Silenced, StoreError, StoredSession};
use serde_json::Value;

use super::{Office, OperationError, Result};
use crate::ids::fresh;
use crate::inbound::draft::Draft;
use crate::inbound::step_03_session::state;
use crate::inbound::step_12_record::{VERSION, next_look};
use crate::org_view::OrgView;
use crate::talk::message::ThreadMessage;
use crate::talk::run::{RunOutcome, RunRecord};
use crate::talk::session::Session;
use crate::talk::{Unreadable, read, write};

/// How often a session is read again.
const TRIES: usize = 20;
/// The last messages that are looked at.
const MESSAGES: u32 = 100;

/// A session that is being changed.
pub(super) struct Step {
    pub(super) view: Arc<OrgView>,
    pub(super) session: Session,
    /// What was said before, oldest first.
    pub(super) earlier: Vec<ThreadMessage>,
    pub(super) draft: Draft,
    /// What the conversation goes on with.
    pub(super) inbox: Vec<GoesOn>,
    pub(super) run: RunId,
    pub(super) now: Timestamp,
}

impl Office<'_> {
    /// Changes a session, and says what it is from now on.
    pub(super) async fn step_in(
        &self,
        id: SessionId,
        action: &str,
        data: &Value,
        change: impl Fn(&mut Step) -> Result<()>,
    ) -> Result<(Session, Silenced)> {
        let store = self.allowed(Duty::Work).await?;
        for _ in 0..TRIES {
            let stored = store.session(id).await?;
            if let Some(run) = self.once
                && store.run(run).await.is_ok()
            {
                let nothing = Silenced { withdrawn: 0, in_flight: Vec::new() };
                return Ok((read("session", &stored.data)?, nothing));
            }
            let mut step = self.begin(&stored).await?;
            change(&mut step)?;
            step.session.sync_clock(step.now);
            let session = step.session.clone();
            let what = self.intervention(stored, step, action, data);
            match store.intervene(what).await {
                Err(StoreError::Moved) => {}
                // The same was wished at the same time, and is done.
                Err(StoreError::Conflict(_)) if self.once.is_some() => {}
                Err(other) => return Err(other.into()),
                Ok(silenced) => {
                    self.inner().live.stop(id);
                    self.inner().bell.ring_for(&session.key());
                    return Ok((session, silenced));
                }
            }
        }
        Err(OperationError::Busy)
    }

    async fn begin(&self, stored: &StoredSession) -> Result<Step> {
        let store = self.inner().store.org(self.org);
        let mut session: Session = read("session", &stored.data)?;
        let messages = store.last_messages(session.thread, MESSAGES).await?;
        let earlier = messages.iter().map(|one| read("message", &one.data));
        let earlier = earlier.collect::<std::result::Result<Vec<_>, Unreadable>>()?;
        let pending = store.count_pending_approvals(Some(session.id)).await?;
        session.pending_approvals = u32::try_from(pending).unwrap_or(u32::MAX);
        let unknown = store.count_unknown_calls(session.conversation).await?;
        session.unknown_outcomes = u32::try_from(unknown).unwrap_or(u32::MAX);
        Ok(Step {
            view: self.view().await?,
            session,
            earlier,
            draft: Draft::default(),
            inbox: Vec::new(),
            run: self.once.unwrap_or_else(|| fresh(RunId::from_u128)),
            now: self.inner().clock.now(),
        })
    }

    fn intervention(
        &self,
        stored: StoredSession,
        step: Step,
        action: &str,
        data: &Value,
    ) -> Intervention {
        let Step { view, session, draft, inbox, run, now, .. } = step;
        let record = RunRecord {
            v: VERSION,
            id: run,
            session: session.id,
            at: now,
            input: Vec::new(),
            outcome: RunOutcome::Housekeeping { what: action.to_owned() },
            steps: Vec::new(),
            turns: Vec::new(),
            beside: Vec::new(),
            credits: Credits::ZERO,
        };
        Intervention {
            read: stored,
            session: state(&session),
            due: next_look(&view, &session, now).map_or(Due::Never, Due::At),
            run: NewRun { id: run, data: write(&record) },
            messages: draft.messages,
            outbox: draft.outbox,
            events: draft.events,
            inbox,
            audit: self.line(action, &session.id, data),
        }
    }
}
