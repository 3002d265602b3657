//! The agents that a run may give work to, from a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use ostler_engine::subagent::{Subagent, Subagents};
use ostler_engine::tool::Tool;
use serde::Deserialize;

use super::parts::Chosen;
use crate::cli::Run;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The agents.
    #[serde(default)]
    subagent: Vec<Subagent>,
    /// The models that are set for some of them.
    #[serde(default)]
    models: BTreeMap<String, String>,
}

/// The tool that gives them work, if there are any. What they may use is among
/// `tools`; where nothing says otherwise, their model is the run's own.
pub(super) fn tool(
    command: &Run,
    models: &Chosen,
    tools: &[Arc<dyn Tool>],
) -> anyhow::Result<Option<Arc<dyn Tool>>> {
    let Some(path) = &command.subagents else { return Ok(None) };
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let file: File = toml::from_str(&text).with_context(|| format!("in {shown}"))?;
    let there: Vec<_> = tools.iter().map(|tool| tool.definition().spec.name.clone()).collect();
    let set = |agents: Subagents, (kind, model): (&String, &String)| agents.with_model(kind, model);
    let agents = Subagents::new(file.subagent, &there)
        .and_then(|agents| file.models.iter().try_fold(agents, set))
        .with_context(|| format!("in {shown}"))?;
    Ok(agents.in_mode(models.name()).tool())
}
