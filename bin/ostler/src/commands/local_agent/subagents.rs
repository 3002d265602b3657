//! The subagents of a local agent, from a file.

use std::collections::BTreeMap;

use anyhow::Context as _;
use ostler_domain::tool::ToolName;
use ostler_engine::subagent::{Subagent, Subagents};
use ostler_harness::HarnessSubagent;
use serde::Deserialize;

use super::LocalAgentArgs;

/// The file that `--subagents` names.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubagentFile {
    #[serde(default)]
    subagent: Vec<Subagent>,
    /// Models by name of the subagent.
    #[serde(default)]
    models: BTreeMap<String, String>,
}

/// Reads and checks the file. Subagents may use only `tools`.
pub(super) fn load(args: &LocalAgentArgs, tools: &[ToolName]) -> anyhow::Result<SubagentFile> {
    let Some(path) = &args.subagents else { return Ok(SubagentFile::default()) };
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let file: SubagentFile = toml::from_str(&text).with_context(|| format!("in {shown}"))?;
    let with_model =
        |agents: Subagents, (kind, model): (&String, &String)| agents.with_model(kind, model);
    Subagents::new(file.subagent.clone(), tools)
        .and_then(|agents| file.models.iter().try_fold(agents, with_model))
        .with_context(|| format!("in {shown}"))?;
    Ok(file)
}

impl SubagentFile {
    /// Returns the subagents for the harness.
    pub(super) fn subagents(&self) -> impl Iterator<Item = HarnessSubagent> {
        self.subagent.iter().map(|agent| HarnessSubagent {
            allowed_harness_tools: agent.tools.clone(),
            default_model_id: self
                .models
                .get(&agent.name)
                .or(agent.default_model.as_ref())
                .cloned(),
            forked: agent.forked,
            max_steps: agent.max_steps,
            max_credits: agent.max_credits,
            ..HarnessSubagent::new(&agent.name, &agent.description, &agent.instructions)
        })
    }
}
