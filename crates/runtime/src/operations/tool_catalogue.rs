//! The tools that agents can have, as people look them up.

use std::collections::BTreeSet;

use ostler_domain::tool::{Integration, ToolSpec};
use ostler_engine::tool::{ToolSet, UnavailableTool};
use serde_json::Value;

use super::{Operations, OrgOperations, Result};

/// A tool that agents can have.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueTool {
    pub spec: ToolSpec,
    /// What models are told about it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub arguments: Value,
    /// The services that it needs and the org has not connected.
    pub not_connected: Vec<Integration>,
}

impl Operations {
    /// Returns the tools that agents of every org can have, by name.
    pub fn built_in_tools(&self) -> Vec<CatalogueTool> {
        entries(&self.0.tools.built_in, None)
    }
}

impl OrgOperations<'_> {
    /// Returns the tools that the org's agents can have by name, and those that cannot be used
    /// at the moment.
    pub async fn tool_catalogue(&self) -> Result<(Vec<CatalogueTool>, Vec<UnavailableTool>)> {
        let set = self.tool_set().await?;
        let connected = self.inner().store.org(self.org).connected_services().await?;
        Ok((entries(&set.tools, Some(&connected)), set.unavailable))
    }
}

fn entries(tools: &ToolSet, connected: Option<&BTreeSet<Integration>>) -> Vec<CatalogueTool> {
    let specs = tools.specs().filter_map(|spec| tools.definition(spec.name.as_str()));
    let entry = specs.map(|tool| {
        let is_missing = |one: &&Integration| connected.is_some_and(|all| !all.contains(*one));
        let needed = tool.spec.integrations.iter();
        CatalogueTool {
            spec: tool.spec.clone(),
            description: tool.description.clone(),
            arguments: tool.schema.clone(),
            not_connected: needed.filter(is_missing).cloned().collect(),
        }
    });
    let mut all: Vec<CatalogueTool> = entry.collect();
    all.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
    all
}
