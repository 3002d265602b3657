//! Conversations that wait for a person.

use ostler_domain::human::escalation::{EscalationStatus, Urgency};
use ostler_domain::id::{EscalationId, UserId};
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::session::Session;

/// That a person was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// Its id.
    pub id: EscalationId,
    /// Where it stands.
    pub status: EscalationStatus,
    /// How pressing it is.
    pub urgency: Urgency,
    /// Why.
    pub reason: String,
    /// What the person should know.
    pub context_summary: String,
    /// When it began.
    pub requested_at: Timestamp,
    /// Who took over, if somebody did.
    pub taken_over_by: Option<UserId>,
    /// When they did.
    pub taken_over_at: Option<Timestamp>,
}

/// A conversation in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Why it waits.
    pub escalation: Escalation,
    /// The session.
    pub session: Session,
}
