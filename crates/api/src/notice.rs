//! Notices to the owner.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::NoticeId;
use ostler_domain::notice::NoticeKind;
use ostler_domain::notice::preferences::{NoticeDestination, NoticeTopic};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A notice to the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    pub id: NoticeId,
    pub kind: NoticeKind,
    pub topic: NoticeTopic,
    pub subject: String,
    pub data: Value,
    /// What it says, in words.
    pub message: String,
    pub created_at: Timestamp,
    pub read_at: Option<Timestamp>,
    pub read_by: Option<AuditActor>,
    /// Why nobody has to act on it any more.
    pub settled: Option<String>,
}

/// A notice and where it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeDetail {
    #[serde(flatten)]
    pub notice: Notice,
    pub deliveries: Vec<NoticeDelivery>,
    /// Why it was sent nowhere, if that is so.
    pub unsent: Option<String>,
}

/// A delivery of a notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeDelivery {
    /// The person, as the settings name them.
    pub person: String,
    pub destination: NoticeDestination,
    /// Whether it is sent only if nobody reacts.
    pub only_if_unanswered: bool,
    /// `planned`, `skipped`, `sending`, `delivered`, `unknown` or `failed`.
    pub state: String,
    /// Why it was skipped or failed.
    pub reason: Option<String>,
    pub due_at: Timestamp,
}
