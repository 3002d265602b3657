//! Threads, as their users see them, and the settings that are stored with them.

use std::collections::BTreeMap;

use ostler_domain::id::ThreadId;
use ostler_domain::time::Timestamp;
use ostler_store::StoredThread;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::task::TaskItem;
use crate::usage::TokenUsage;

/// A conversation of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarnessThread {
    pub id: ThreadId,
    pub resource_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The thread whose messages it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<ThreadId>,
    pub message_count: i64,
    pub metadata: ThreadMetadata,
}

/// Settings and figures that are stored with a thread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_mode_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_model_id: Option<String>,
    pub token_usage: TokenUsage,
    /// Credits spent by the turns of the thread.
    #[serde(skip_serializing_if = "is_zero")]
    pub credits_spent: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskItem>,
    /// Everything else: `modeModelId_MODE` for each mode, and settings of the embedder.
    #[serde(flatten)]
    pub settings: BTreeMap<String, Value>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl ThreadMetadata {
    /// Returns the model that was last used in a mode.
    pub fn mode_model(&self, mode: &str) -> Option<&str> {
        self.settings.get(&mode_model_key(mode)).and_then(Value::as_str)
    }

    pub(crate) fn set_mode_model(&mut self, mode: &str, model: Option<&str>) {
        match model {
            Some(model) => self.settings.insert(mode_model_key(mode), model.into()),
            None => self.settings.remove(&mode_model_key(mode)),
        };
    }
}

fn mode_model_key(mode: &str) -> String {
    format!("modeModelId_{mode}")
}

impl From<StoredThread> for HarnessThread {
    /// Metadata that cannot be read does not hide the thread.
    fn from(stored: StoredThread) -> Self {
        Self {
            id: stored.id,
            resource_id: stored.resource,
            title: stored.title,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            parent_id: stored.parent,
            message_count: stored.message_count,
            metadata: serde_json::from_str(&stored.metadata).unwrap_or_default(),
        }
    }
}
