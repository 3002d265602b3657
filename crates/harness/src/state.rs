//! The state of a harness: the embedder's own fields, checked against their schema, and
//! those of the harness.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{ConfigError, HarnessError};

/// A type that can be the state of a harness. Implemented for every type that has the
/// parts.
pub trait HarnessStateSchema:
    Serialize + DeserializeOwned + JsonSchema + Default + Send + Sync + 'static
{
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Default + Send + Sync + 'static>
    HarnessStateSchema for T
{
}

/// Fields that every state has.
pub(crate) const YOLO: &str = "yolo";
pub(crate) const TASKS: &str = "tasks";
pub(crate) const CURRENT_MODEL: &str = "currentModelId";
const BUILT_IN: [&str; 3] = [YOLO, TASKS, CURRENT_MODEL];

/// The schema of the embedder's fields.
#[derive(Debug)]
pub(crate) struct StateSchema {
    validator: Validator,
    /// The names of the embedder's fields.
    fields: BTreeSet<String>,
    /// Fails with the reason if the fields do not fit the type.
    check: fn(&Value) -> Result<(), String>,
}

impl StateSchema {
    /// Returns the schema of a type. It is compiled once for all harnesses of the process.
    pub(crate) fn of<S: HarnessStateSchema>() -> Result<Arc<Self>, ConfigError> {
        static COMPILED: Mutex<BTreeMap<TypeId, Arc<StateSchema>>> = Mutex::new(BTreeMap::new());
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = compiled.get(&TypeId::of::<S>()) {
            return Ok(schema.clone());
        }
        let schema = Arc::new(Self::compile::<S>()?);
        compiled.insert(TypeId::of::<S>(), schema.clone());
        Ok(schema)
    }

    fn compile<S: HarnessStateSchema>() -> Result<Self, ConfigError> {
        let schema = schemars::schema_for!(S).to_value();
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields = fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
        let validator = jsonschema::validator_for(&schema)
            .map_err(|error| ConfigError::StateSchema(error.to_string()))?;
        let check = |state: &Value| match S::deserialize(state) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        Ok(Self { validator, fields, check })
    }

    /// Returns the embedder's part of a state.
    pub(crate) fn own_fields(&self, state: &Map<String, Value>) -> Value {
        let is_own = |name: &str| self.fields.contains(name) || !BUILT_IN.contains(&name);
        let own = state.iter().filter(|(name, _)| is_own(name));
        Value::Object(own.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Checks a state. Fails with the reason.
    fn check(&self, state: &Map<String, Value>) -> Result<(), String> {
        if !matches!(state.get(YOLO), None | Some(Value::Bool(_))) {
            return Err("`yolo` is true or false".into());
        }
        if !matches!(state.get(CURRENT_MODEL), None | Some(Value::String(_) | Value::Null)) {
            return Err("`currentModelId` is a text".into());
        }
        let own = self.own_fields(state);
        if let Some(error) = self.validator.iter_errors(&own).next() {
            let place = error.instance_path().to_string();
            return Err(if place.is_empty() {
                error.to_string()
            } else {
                format!("{place}: {error}")
            });
        }
        (self.check)(&own)
    }

    /// Merges defaults with the initial state.
    pub(crate) fn initial(
        &self,
        defaults: &Value,
        initial: &Value,
    ) -> Result<Map<String, Value>, ConfigError> {
        let mut state = defaults.as_object().cloned().unwrap_or_default();
        state.extend(initial.as_object().cloned().unwrap_or_default());
        self.check(&state).map_err(ConfigError::InvalidState)?;
        Ok(state)
    }

    /// Returns the state with some fields replaced, and the names of those that changed.
    pub(crate) fn changed(
        &self,
        state: &Map<String, Value>,
        changes: Map<String, Value>,
    ) -> Result<(Map<String, Value>, Vec<String>), HarnessError> {
        let differs = |(name, value): &(&String, &Value)| state.get(*name) != Some(*value);
        let mut changed: Vec<String> =
            changes.iter().filter(differs).map(|(name, _)| name.clone()).collect();
        changed.sort_unstable();
        let mut next = state.clone();
        next.extend(changes);
        self.check(&next).map_err(HarnessError::InvalidState)?;
        Ok((next, changed))
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::StateSchema;

    #[derive(Serialize, Deserialize, JsonSchema, Default)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Own {
        depth: u8,
        name: Option<String>,
    }

    fn object(value: &Value) -> serde_json::Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    /// M23: a change that does not fit is refused; a valid one names the changed fields.
    #[test]
    fn m23_changes_are_checked_against_the_schema() {
        let schema = StateSchema::of::<Own>().unwrap();
        let defaults = serde_json::to_value(Own::default()).unwrap();
        let state = schema.initial(&defaults, &json!({"depth": 2, "yolo": false})).unwrap();
        assert_eq!(state["depth"], 2);
        for bad in [
            json!({"depth": "deep"}),
            json!({"depth": 300}),
            json!({"unknown": 1}),
            json!({"yolo": "very"}),
            json!({"currentModelId": 5}),
        ] {
            assert!(schema.changed(&state, object(&bad)).is_err(), "{bad}");
        }
        let change = json!({"depth": 2, "name": "x", "yolo": true});
        let (next, changed) = schema.changed(&state, object(&change)).unwrap();
        assert_eq!(changed, ["name", "yolo"]);
        assert_eq!(schema.own_fields(&next), json!({"depth": 2, "name": "x"}));
    }
}
