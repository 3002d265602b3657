//! Business data of an org: importing, listing and showing it.

use ostler_domain::business_data::DataKind;
use ostler_domain::message::MediaType;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Rows of business data, as a file has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataRows {
    /// The slug of the organization.
    pub org: String,
    pub kind: DataKind,
    /// The name of the file.
    pub source: String,
    /// The field that is the own key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_field: Option<String>,
    pub rows: Vec<DataRow>,
    /// Rows that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRow>,
}

/// A row of business data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataRow {
    /// Counted from 1.
    pub row: u64,
    /// The own key, by which the record is recognized when it is imported again.
    pub key: String,
    /// A field that is null is removed; one that is absent stays.
    pub fields: Map<String, Value>,
    /// The file of a media item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<DataFile>,
}

/// A file of business data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    pub name: String,
    pub media_type: MediaType,
    /// The content in base64.
    pub content: String,
}

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusedRow {
    pub row: u64,
    /// Empty if the reason concerns the whole row.
    pub column: String,
    pub reason: String,
}

/// What happens to the rows of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataPlan {
    pub org: String,
    pub kind: DataKind,
    pub source: String,
    pub created: usize,
    pub changed: usize,
    /// Also those that the file has not changed since they were applied.
    pub unchanged: usize,
    pub refused: usize,
    /// The rows that are not unchanged.
    pub rows: Vec<RowPlan>,
}

/// What an import does with a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowPlan {
    pub row: u64,
    pub key: String,
    pub outcome: RowOutcome,
    /// The fields that change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<String>>,
    /// The column because of which a row is refused; empty for the whole row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Why a row is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What an import does with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    Create,
    Change,
    Unchanged,
    Refused,
}

/// An item of business data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataItem {
    pub id: String,
    /// The own key, if it has one.
    pub key: Option<String>,
    pub name: String,
    /// Grows with each change.
    pub version: i64,
    pub updated_at: Timestamp,
    pub data: Value,
}

/// Body of `POST data/{kind}/import`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The name of the file, for the audit log.
    #[serde(default)]
    pub source: String,
    /// The field that is the own key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_field: Option<String>,
    pub rows: Vec<DataRow>,
    /// Rows that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRow>,
    /// Only say what would happen to each row.
    #[serde(default)]
    pub dry_run: bool,
    /// Import the other rows if some are refused. Without it, nothing is imported then.
    #[serde(default)]
    pub skip_refused: bool,
}

/// What an import did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    pub kind: DataKind,
    /// Whether it was stored.
    pub applied: bool,
    pub created: usize,
    pub changed: usize,
    pub unchanged: usize,
    pub refused: usize,
    /// Every row, in the order of the file.
    pub rows: Vec<RowPlan>,
}
