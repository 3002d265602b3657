//! The audit log.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::AuditId;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    pub id: AuditId,
    pub at: Timestamp,
    /// The name of who acted: an e-mail address, a key, an agent, `terminal` or `system`.
    pub actor: String,
    /// Who acted, by id.
    pub actor_id: AuditActor,
    /// For example `change_agent`.
    pub action: String,
    /// The affected object by name.
    pub object: String,
    /// The affected object by id or address.
    pub subject: String,
    pub changes: Vec<AuditedChange>,
    /// What is stored about the action.
    pub data: Value,
}

/// The change of a field. A field that did not change has the same value twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditedChange {
    /// Fields of objects are separated by dots.
    pub field: String,
    pub before: Value,
    pub after: Value,
}
