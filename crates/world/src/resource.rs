//! Resources as values: each with its address, every field present.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::address::{Address, Kind};
use crate::spec::Spec;

/// A set of resources, by address.
pub type Resources = BTreeMap<Address, Resource>;

/// A resource: the value of its spec with every field present.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource(Value);

/// The value is not a resource of this kind.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {cause}")]
pub struct InvalidResource {
    /// The field, such as `settings.team.max_handoffs`.
    pub path: String,
    pub cause: serde_json::Error,
}

impl Resource {
    /// Makes a resource from its spec.
    pub fn new<S: Spec>(spec: &S) -> Self {
        // Specs are plain data with string keys, which always serialize.
        let mut value = serde_json::to_value(spec).unwrap_or_default();
        // Files list the fields by name, whatever order a map of the library keeps.
        value.sort_all_objects();
        Self(value)
    }

    /// Keeps a value that is no valid resource, so that others can refer to it.
    pub(crate) const fn unchecked(value: Value) -> Self {
        Self(value)
    }

    /// Parses a value as a resource of a kind and fills in what is left out.
    pub fn parse(kind: Kind, value: &Value) -> Result<Self, InvalidResource> {
        use crate::spec;
        fn fill<S: Spec>(value: &Value) -> Result<Resource, InvalidResource> {
            Resource(value.clone()).spec::<S>().map(|spec| Resource::new(&spec.normalized()))
        }
        match kind {
            Kind::Platform => fill::<spec::PlatformDefinition>(value),
            Kind::Org => fill::<spec::OrgDefinition>(value),
            Kind::Tool => fill::<spec::HttpToolDefinition>(value),
            Kind::McpServer => fill::<spec::McpServerDefinition>(value),
            Kind::Agent => fill::<spec::AgentDefinition>(value),
            Kind::Channel => fill::<spec::ChannelDefinition>(value),
            Kind::Integration => fill::<spec::IntegrationDefinition>(value),
            Kind::Document => fill::<spec::DocumentDefinition>(value),
            Kind::Member => fill::<spec::MemberDefinition>(value),
            Kind::Workflow => fill::<spec::WorkflowResource>(value),
            Kind::Schedule => fill::<spec::ScheduleResource>(value),
        }
    }

    /// Returns the spec.
    pub fn spec<S: Spec>(&self) -> Result<S, InvalidResource> {
        serde_path_to_error::deserialize(&self.0).map_err(|error| InvalidResource {
            path: error.path().to_string(),
            cause: error.into_inner(),
        })
    }

    /// Returns the resource with another value of a field.
    #[must_use]
    pub fn with(&self, field: &str, value: Value) -> Self {
        let mut changed = self.0.clone();
        changed[field] = value;
        Self(changed)
    }

    /// Returns the value.
    pub const fn value(&self) -> &Value {
        &self.0
    }

    /// Returns the value without what a file can leave out: fields that have their
    /// default.
    pub fn sparse(&self, kind: Kind) -> Value {
        let required = crate::schema::required(kind);
        let object = self.0.as_object();
        let minimal: Value = object
            .map(|fields| {
                let kept = fields.iter().filter(|(key, _)| required.contains(key.as_str()));
                kept.map(|(key, value)| (key.clone(), value.clone())).collect()
            })
            .unwrap_or_default();
        match Self::parse(kind, &minimal) {
            Ok(Self(defaults)) => without(&self.0, &defaults).unwrap_or(minimal.clone()),
            Err(_) => self.0.clone(),
        }
        .merged_with(minimal)
    }
}

trait MergedWith {
    fn merged_with(self, required: Value) -> Value;
}

impl MergedWith for Value {
    /// Adds required fields that were left out because they equal their default.
    fn merged_with(mut self, required: Value) -> Value {
        if let (Some(fields), Value::Object(required)) = (self.as_object_mut(), required) {
            for (key, value) in required {
                fields.entry(key).or_insert(value);
            }
        }
        self
    }
}

/// Returns the parts of a value that differ from the default; `None` if none does.
/// Tables are compared field by field, lists as a whole.
fn without(value: &Value, default: &Value) -> Option<Value> {
    match (value, default) {
        (Value::Object(fields), Value::Object(defaults)) => {
            let own: serde_json::Map<String, Value> = fields
                .iter()
                .filter_map(|(key, value)| {
                    let default = defaults.get(key).unwrap_or(&Value::Null);
                    without(value, default).map(|value| (key.clone(), value))
                })
                .collect();
            (!own.is_empty()).then_some(Value::Object(own))
        }
        (Value::Null, _) => None,
        _ if value == default => None,
        _ => Some(value.clone()),
    }
}
