//! Documents that an org's agents can read.

use std::collections::BTreeSet;

use ostler_domain::id::DocumentId;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A document, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its id.
    pub id: DocumentId,
    /// How often it was changed, from 1.
    pub version: i64,
    /// Its title.
    pub title: String,
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// The length of its text in bytes.
    pub size: u64,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A document to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewDocument {
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// A document that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// Its id.
    pub id: DocumentId,
}
