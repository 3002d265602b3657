//! What the org's owner is told.

use ostler_domain::id::NoticeId;
use ostler_domain::notice::NoticeKind;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its id.
    pub id: NoticeId,
    /// What it is about.
    pub kind: NoticeKind,
    /// Whom or what it concerns.
    pub subject: String,
    /// The rest of it.
    pub data: Value,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was read, if it was.
    pub read_at: Option<Timestamp>,
}
