//! Sessions that wait for a person.

use ostler_domain::human::escalation::{EscalationStatus, queue_order};
use ostler_domain::org::permission::OrgPermission;
use ostler_store::SessionFilter;
use serde::Serialize;

use super::sessions::decode_each;
use super::{OrgOperations, Result};
use crate::records::session::{OpenEscalation, Session};

/// How many sessions are loaded at once.
const PAGE: u32 = 500;

/// A session with an open escalation.
#[derive(Debug, Clone, Serialize)]
pub struct WaitingSession {
    pub session: Session,
    pub escalation: OpenEscalation,
}

impl OrgOperations<'_> {
    /// Returns the queue of escalations: first those that nobody has taken over, the most
    /// urgent and then the oldest first; then, in the same order, those that were taken over.
    pub async fn escalations(&self) -> Result<Vec<WaitingSession>> {
        let store = self.authorize(OrgPermission::View).await?;
        let (mut queue, mut before) = (Vec::new(), None);
        loop {
            let page = store.sessions(SessionFilter::HandedOff, before, PAGE).await?;
            let sessions: Vec<Session> =
                decode_each("session", page.iter().map(|one| one.data.as_str()))?;
            queue.extend(sessions.into_iter().filter_map(|session| {
                let escalation = session.open_escalation()?.clone();
                Some(WaitingSession { session, escalation })
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
