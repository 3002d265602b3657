//! The tools that agents can have.

use ostler_domain::tool::{Integration, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::MissingTool;

/// A tool that agents can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogueTool {
    /// What policy knows of it: its name, risk, reach, audience, price and the services that it
    /// needs.
    #[schemars(with = "Value")]
    pub spec: ToolSpec,
    /// What models are told about it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub arguments: Value,
    /// The services that the organization has not connected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub not_connected: Vec<Integration>,
}

/// The tools that an organization's agents can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCatalogue {
    pub tools: Vec<CatalogueTool>,
    /// The organization's own tools that cannot be used at the moment, each with the reason.
    pub unavailable: Vec<MissingTool>,
}
