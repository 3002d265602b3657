//! Escalations: conversations that wait for a person.

use ostler_domain::human::escalation::{EscalationStatus, Urgency};
use ostler_domain::id::{EscalationId, UserId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::Session;

/// A request for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Escalation {
    pub id: EscalationId,
    pub status: EscalationStatus,
    pub urgency: Urgency,
    pub reason: String,
    pub context_summary: String,
    pub requested_at: Timestamp,
    pub taken_over_by: Option<UserId>,
    pub taken_over_at: Option<Timestamp>,
}

/// An escalation in the queue, with its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedEscalation {
    pub escalation: Escalation,
    pub session: Session,
}
