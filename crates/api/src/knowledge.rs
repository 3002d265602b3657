//! Knowledge documents of an org.

use std::collections::BTreeSet;

use ostler_domain::id::DocumentId;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    pub id: DocumentId,
    /// Counts changes, starting at 1.
    pub version: i64,
    pub title: String,
    pub tags: BTreeSet<String>,
    /// Length of the text in bytes.
    pub size: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentText {
    #[serde(flatten)]
    pub document: Document,
    pub body: String,
}

/// Body of `POST knowledge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDocument {
    pub title: String,
    pub body: String,
    #[serde(default)]
    pub tags: Vec<String>,
}

/// Response to `POST knowledge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddedDocument {
    pub id: DocumentId,
}
