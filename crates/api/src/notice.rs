//! Notices to the owner of an org.

use ostler_domain::id::NoticeId;
use ostler_domain::notice::NoticeKind;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A notice to the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    pub id: NoticeId,
    pub kind: NoticeKind,
    pub subject: String,
    pub data: Value,
    pub created_at: Timestamp,
    pub read_at: Option<Timestamp>,
}
