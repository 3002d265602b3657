//! HTTP tools: how an org lets its agents call a system of its own.
//!
//! The definition is data, written as TOML in a file or kept as JSON. [`HttpTool::check`]
//! finds its mistakes; nothing here sends anything.

mod check;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Audience, Risk, SecretText, ToolCategory, ToolGroup, ToolName, ToolSpec};

/// The default time limit of a call, in seconds.
pub const DEFAULT_TIMEOUT_SECS: u32 = 20;
/// The longest time limit of a call, in seconds.
pub const MAX_TIMEOUT_SECS: u32 = 120;

/// An HTTP tool of an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpTool {
    /// The name that models call it by
    pub name: ToolName,
    /// What the tool does and when to use it, for the model
    pub description: String,
    /// How bad a wrong call would be
    pub risk: Risk,
    /// `customer`: also in conversations with customers; `staff`: for the org's people only
    #[serde(default = "Audience::staff")]
    pub audience: Audience,
    #[serde(default)]
    pub method: HttpMethod,
    /// The URL, with `{argument}` placeholders in its path or query
    pub url: String,
    /// Credits per call; by default 0 for tools that read and 1 for others
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<u32>,
    /// The time limit of a call in seconds, at most 120
    #[serde(default = "default_timeout_secs")]
    #[schemars(range(min = 1, max = 120))]
    pub timeout_secs: u32,
    /// Whether the system does nothing more when it gets the same `Idempotency-Key` again.
    /// Only then is a call repeated after a crash
    #[serde(default)]
    pub idempotent: bool,
    /// The query parameters; one whose arguments are missing is left out
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// The request headers; a value may be the location of a secret
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretText>,
    /// The JSON Schema of the arguments
    #[serde(default = "no_arguments")]
    #[schemars(with = "Map<String, Value>")]
    pub input: Value,
    /// The body, with placeholders in its texts; by default POST, PUT and PATCH send the
    /// arguments that are used nowhere else
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    #[serde(default, skip_serializing_if = "BodyFormat::is_json")]
    pub body_format: BodyFormat,
    #[serde(default, skip_serializing_if = "ResponseMapping::is_default")]
    pub response: ResponseMapping,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    #[default]
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl HttpMethod {
    /// Returns the name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Returns whether arguments that are used nowhere else are sent as the body.
    pub const fn sends_arguments(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyFormat {
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
}

impl BodyFormat {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    const fn is_json(&self) -> bool {
        matches!(self, Self::Json)
    }
}

/// What the answer of the system means.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResponseMapping {
    /// JSON pointers to what the model reads of an answer, such as `/order/status`; by
    /// default the whole body
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub result: Vec<String>,
    /// Statuses of success; by default 200 to 299
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub success: Vec<u16>,
    /// Statuses that mean that the system declines; by default 409 and 422
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<u16>,
    /// Statuses that mean that there is no such thing; by default 404 and 410
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_found: Vec<u16>,
    /// Statuses that mean that nothing was done; by default those from 400 to 499 that are
    /// in no other list. After other errors it is unknown whether a change was made
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u16>,
}

/// What a status means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusMeaning {
    Success,
    Refused,
    NotFound,
    /// Nothing was done.
    Failed,
    /// The system failed, and may have done a part of it.
    Unclear,
}

impl ResponseMapping {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what a status means. The lists of the definition come first.
    pub fn meaning(&self, status: u16) -> StatusMeaning {
        let lists = [
            (&self.success, StatusMeaning::Success),
            (&self.refused, StatusMeaning::Refused),
            (&self.not_found, StatusMeaning::NotFound),
            (&self.failed, StatusMeaning::Failed),
        ];
        if let Some((_, meaning)) = lists.iter().find(|(list, _)| list.contains(&status)) {
            return *meaning;
        }
        match status {
            200..=299 if self.success.is_empty() => StatusMeaning::Success,
            409 | 422 if self.refused.is_empty() => StatusMeaning::Refused,
            404 | 410 if self.not_found.is_empty() => StatusMeaning::NotFound,
            // Neither of the last two has looked at the request.
            300..=499 | 501 | 503 => StatusMeaning::Failed,
            _ => StatusMeaning::Unclear,
        }
    }
}

impl HttpTool {
    /// Returns what policy decides by.
    pub fn spec(&self) -> ToolSpec {
        let category =
            if self.risk == Risk::Read { ToolCategory::Read } else { ToolCategory::Other };
        ToolSpec {
            category,
            risk: self.risk,
            ..ToolSpec::read(self.name.clone(), ToolGroup::Custom)
        }
        .external()
        .untrusted()
        .for_audience(self.audience)
        .priced(self.price.unwrap_or(u32::from(self.risk != Risk::Read)).into())
    }

    /// Returns the JSON Schema of the arguments: an object without further members, unless
    /// the definition says otherwise.
    pub fn schema(&self) -> Value {
        let mut schema = self.input.clone();
        if let Value::Object(members) = &mut schema {
            members.entry("type").or_insert_with(|| "object".into());
            members.entry("additionalProperties").or_insert(Value::Bool(false));
        }
        schema
    }
}

const fn default_timeout_secs() -> u32 {
    DEFAULT_TIMEOUT_SECS
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

#[cfg(test)]
mod tests;
