//! The tools that agents can have, and those that an organization has defined.

use ostler_domain::time::Timestamp;
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

/// The kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefinedToolKind {
    HttpTool,
    McpServer,
}

/// An HTTP tool or an MCP server that the organization has defined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefinedTool {
    pub kind: DefinedToolKind,
    pub name: String,
    /// What `PUT tools/NAME` or `PUT mcp-servers/NAME` takes.
    pub definition: Value,
    pub saved_at: Timestamp,
}

/// What saving a definition did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionChange {
    Added,
    Replaced,
    /// It was there already, just like this.
    Unchanged,
}

/// A definition that was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedDefinition {
    pub name: String,
    pub change: DefinitionChange,
    /// What keeps it from working on the server's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Body of `POST tools/TOOL/test`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolTestRequest {
    /// The arguments of the call, an object.
    pub arguments: Value,
}

/// How a call of a tool ended that was made to test it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolTestResult {
    /// `ok`, `refused`, `not_found`, `failed`, `invalid`, `outcome_unknown` and others.
    pub status: String,
    /// The text for the model.
    pub content: String,
    pub millis: u64,
}

/// What an MCP server answered when it was tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerTest {
    pub tools: Vec<CatalogueTool>,
    /// What keeps its tools from being used, in sentences.
    pub problems: Vec<String>,
}
