//! The resources of an installation as a whole: what lives, a plan of what a change would do,
//! and making the change. Resources have the fields of world files.

use std::collections::BTreeMap;

use ostler_domain::id::{RunId, SessionId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::{DataPlan, DataRows};

/// A resource with every field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveResource {
    /// Its address: `platform`, `org ORG`, or the kind with the organization and the name, such
    /// as `agent bella/gia`.
    pub resource: String,
    pub value: Value,
    /// What a change may be based on; the `ETag` of the resource.
    pub version: String,
}

/// What a list of resources is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResourceSource {
    /// Everything that world files say. What they said before and do not any more is archived
    /// or removed.
    Files,
    /// The resources to change; the others stay.
    #[default]
    Change,
}

/// Which value stays where something was changed live since the last apply of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeptSide {
    Live,
    File,
}

/// Body of `POST resources/plan` and `POST resources/apply`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    #[serde(default)]
    pub source: ResourceSource,
    /// The wanted resources by address. A field that is left out has its default.
    pub resources: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeptSide>,
    /// Business data of the organizations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataRows>,
    /// The file and line of fields, by address and path, for the audit log.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, BTreeMap<String, String>>,
    /// Addresses of resources that have mistakes of their own and are not in `resources`: the
    /// plan has only the rules that the others break.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// Which recorded calls a plan decides again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<CallWindow>,
    /// The `version` of the plan that was looked at. Applying fails if the plan is another one
    /// by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The versions of resources, by address, that the change is based on. It fails if one of
    /// them has another version by now, or is gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub based_on: BTreeMap<String, String>,
}

/// Which recorded calls a plan decides again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallWindow {
    /// Calls of the last so many days.
    pub days: u32,
    /// At most so many calls, the newest first.
    pub calls: u32,
}

/// What a change would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourcePlan {
    /// In the order in which they are made.
    pub changes: Vec<ResourceChange>,
    /// Fields that were changed live since files were applied last.
    pub drift: Vec<ResourceDrift>,
    /// What happens to business data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataPlan>,
    /// The tool calls of the last days that it would have decided differently, if it changes a
    /// rule about calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_if: Option<CallReplay>,
    /// The rules that the resources break. A plan with one has nothing else and cannot be
    /// applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<RuleViolation>,
    /// What of it will not work on the server's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Another one if anything above is different.
    pub version: String,
}

/// What a change does to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResourceAction {
    Create,
    Change,
    /// Archives or removes it; what happened with it stays on record.
    Remove,
}

/// A change of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceChange {
    pub resource: String,
    pub action: ResourceAction,
    /// The fields that change; every field that is set for a new resource.
    pub fields: Vec<FieldChange>,
}

/// A change of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldChange {
    /// Such as `settings.team.max_handoffs`.
    pub path: String,
    /// Null if it was not set.
    pub old: Value,
    /// Null if it is not set any more.
    pub new: Value,
}

/// A field that was changed live since files were applied last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceDrift {
    pub resource: String,
    pub path: String,
    pub applied: Value,
    pub live: Value,
    pub file: Value,
}

/// A rule that a resource breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleViolation {
    pub resource: String,
    /// The field, such as `tools.deny[0]`; empty for the whole resource.
    pub path: String,
    /// What is wrong and what is expected.
    pub message: String,
}

/// The recorded calls that other rules would have decided differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallReplay {
    /// Calls of the last so many days were looked at.
    pub days: u32,
    /// How many were.
    pub calls: usize,
    /// Whether there were more than asked for.
    pub truncated: bool,
    /// By organization, agent and tool.
    pub changes: Vec<VerdictChange>,
}

/// Calls of a tool by an agent that would have been decided differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictChange {
    pub org: String,
    pub agent: String,
    pub tool: String,
    /// The decision now, with its reason.
    pub from: Value,
    /// The decision then, with its reason.
    pub to: Value,
    pub calls: usize,
    /// The newest of the calls.
    pub example: RecordedCall,
}

/// Where a call is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedCall {
    pub session: SessionId,
    pub run: RunId,
    pub at: Timestamp,
}

/// What was applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedPlan {
    /// The `version` of the plan.
    pub version: String,
    /// What keeps changed tools and channels from working on the server's machine.
    pub notes: Vec<String>,
}
