//! Documents that agents know.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A document that the agents of an organization know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    /// The title, unique in the organization.
    pub title: String,
    /// Tags, by which agents find what concerns them.
    #[serde(default)]
    pub tags: BTreeSet<String>,
    /// The text.
    pub text: String,
}
