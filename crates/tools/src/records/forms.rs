//! Forms and the responses to them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ostler_domain::id::{ContactId, RecordId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Entity;

/// A form that people fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub fields: Vec<FormField>,
}

impl Entity for Form {
    const KIND: &'static str = "form";
}

/// A question of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormField {
    /// The key of its answer in a response.
    pub name: String,
    /// The question as people see it.
    pub label: String,
    #[serde(default)]
    pub required: bool,
}

/// A filled-in form. The responses of each form are a record kind of their own: see
/// [`form_response_kind`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormResponse {
    /// `None` if the person is not a known contact.
    #[serde(default)]
    pub contact: Option<ContactId>,
    pub submitted_at: Timestamp,
    /// The answers by field name.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
}

/// Returns the record kind of the responses to one form.
pub fn form_response_kind(form: RecordId) -> String {
    format!("form_response/{form}")
}
