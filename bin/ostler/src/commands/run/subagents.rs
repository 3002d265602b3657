//! The subagents of a run, from a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use ostler_engine::subagent::{Subagent, Subagents};
use ostler_engine::tool::Tool;
use serde::Deserialize;

use super::RunArgs;
use super::model::SelectedModel;

/// The file that `--subagents` names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubagentFile {
    #[serde(default)]
    subagent: Vec<Subagent>,
    /// Models by name of the subagent.
    #[serde(default)]
    models: BTreeMap<String, String>,
}

/// Returns the tool that gives work to subagents, if there are any. They may use only
/// `tools`; without a model of their own they use the run's.
pub(super) fn load(
    args: &RunArgs,
    model: &SelectedModel,
    tools: &[Arc<dyn Tool>],
) -> anyhow::Result<Option<Arc<dyn Tool>>> {
    let Some(path) = &args.subagents else { return Ok(None) };
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let file: SubagentFile = toml::from_str(&text).with_context(|| format!("in {shown}"))?;
    let tool_names: Vec<_> = tools.iter().map(|tool| tool.definition().spec.name.clone()).collect();
    let with_model =
        |agents: Subagents, (kind, model): (&String, &String)| agents.with_model(kind, model);
    let agents = Subagents::new(file.subagent, &tool_names)
        .and_then(|agents| file.models.iter().try_fold(agents, with_model))
        .with_context(|| format!("in {shown}"))?;
    Ok(agents.in_mode(model.name()).tool())
}
