//! Conversations that wait for a person.

use ostler_domain::human::escalation::{EscalationStatus, queue_order};
use ostler_domain::org::duty::Duty;
use ostler_store::Which;
use serde::Serialize;

use super::sessions::read_each;
use super::{Office, Result};
use crate::talk::session::{OpenEscalation, Session};

/// How many sessions are read at once.
const PAGE: u32 = 500;

/// A conversation that waits for a person, or has one.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    /// The session.
    pub session: Session,
    /// Why it waits.
    pub escalation: OpenEscalation,
}

impl Office<'_> {
    /// The queue: those for which nobody has come yet, the most pressing first
    /// and then the oldest; behind them, in the same order, those that somebody
    /// has taken over.
    pub async fn escalations(&self) -> Result<Vec<Waiting>> {
        let store = self.allowed(Duty::Look).await?;
        let (mut queue, mut before) = (Vec::new(), None);
        loop {
            let page = store.sessions(Which::HandedOff, before, PAGE).await?;
            let sessions: Vec<Session> =
                read_each("session", page.iter().map(|one| one.data.as_str()))?;
            queue.extend(sessions.into_iter().filter_map(|session| {
                let escalation = session.open_escalation()?.clone();
                Some(Waiting { session, escalation })
            }));
            before = page.last().map(|one| one.id);
            if page.len() < PAGE as usize {
                break;
            }
        }
        queue.sort_by_key(|one| {
            let state = &one.escalation.state;
            (state.status != EscalationStatus::Pending, queue_order(state))
        });
        Ok(queue)
    }
}
