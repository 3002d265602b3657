//! Business data of an organization: contacts, products, orders and others.

use ostler_domain::business_data::DataKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Business data of an organization, from a file or in rows. Each row is recognized by its
/// own key: a new key creates a record, a known one changes it. Nothing is removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    /// What the rows are.
    pub kind: DataKind,
    /// The file with the rows, relative to this one: `.csv`, `.json`, `.jsonl` or `.vcf`.
    #[serde(default)]
    pub file: Option<String>,
    /// The rows themselves, instead of a file.
    #[serde(default)]
    pub rows: Vec<Map<String, Value>>,
    /// The column that identifies a row, if it is not the kind's own.
    #[serde(default)]
    pub key: Option<String>,
}

impl DataDefinition {
    /// Returns the name by which the entry is known: its file, or `rows`.
    pub fn source(&self) -> &str {
        self.file.as_deref().unwrap_or("rows")
    }
}
