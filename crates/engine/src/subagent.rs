//! Subagents: agents that do work for another agent inside its turn, the tool that
//! starts them, and how their models are chosen.
//!
//! Nothing runs here: a call becomes a [`SubagentTask`], which the turn runs with
//! the same gate, account and limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::money::Credits;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gate::Authorized;
use crate::outcome::ToolOutcome;
use crate::tool::{SubagentTask, Tool, ToolContext, ToolDefinition, ToolReply};

/// The tool that starts a subagent.
pub const SUBAGENT: ToolName = ToolName::from_static("subagent");

/// The definition of a subagent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subagent {
    /// The name the caller uses, for example `explore`.
    pub name: String,
    /// What it is good for; the caller chooses by this text.
    pub description: String,
    /// Its system prompt.
    pub instructions: String,
    /// Whether it starts with the caller's conversation instead of its task alone.
    #[serde(default)]
    pub forked: bool,
    /// The tools it may use, as far as the caller may use them.
    #[serde(default)]
    pub tools: Vec<ToolName>,
    /// Tools that only this kind of subagent has.
    #[serde(default, skip)]
    pub own_tools: Vec<ToolName>,
    /// The most answers it may give.
    #[serde(default)]
    pub max_steps: Option<u32>,
    /// The most credits that it may spend on a task, with those that it starts.
    #[serde(default)]
    pub max_credits: Option<Credits>,
    /// Used unless something more specific is set; see [`ModelChoice`].
    #[serde(default)]
    pub default_model: Option<String>,
}

/// The reason why subagents cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubagentError {
    #[error("`{0}` cannot be the name of a subagent: use letters, digits, `-` and `_`")]
    InvalidName(String),
    #[error("there are two subagents named `{0}`; give one of them another name")]
    Duplicate(String),
    #[error("the subagent `{0}` has no instructions; say what it is and how it works")]
    NoInstructions(String),
    #[error("the subagent `{name}` is given the tool `{tool}`, which does not exist")]
    UnknownTool { name: String, tool: ToolName },
    /// A model is set for a subagent that does not exist.
    #[error("a model is set for the subagent `{0}`, which does not exist")]
    UnknownAgent(String),
}

/// The settings that decide the model of a subagent, the most specific first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelChoice<'a> {
    /// The model named in the call.
    pub call: Option<&'a str>,
    /// The model set for this kind of subagent.
    pub kind: Option<&'a str>,
    /// The default model of the definition.
    pub definition: Option<&'a str>,
    /// The model of the mode the caller works in.
    pub mode: Option<&'a str>,
}

impl<'a> ModelChoice<'a> {
    /// Returns the most specific model; `None` means the caller's own.
    pub fn model(self) -> Option<&'a str> {
        let rungs = [self.call, self.kind, self.definition, self.mode];
        rungs.into_iter().flatten().map(str::trim).find(|name| !name.is_empty())
    }
}

/// The subagents that can be started, and the models set for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subagents {
    all: Vec<Subagent>,
    models: BTreeMap<String, String>,
    mode: Option<String>,
}

impl Subagents {
    /// Checks and collects definitions. `tools` lists all tools that exist.
    pub fn new(all: Vec<Subagent>, tools: &[ToolName]) -> Result<Self, SubagentError> {
        for (at, Subagent { name, instructions, tools: agent_tools, .. }) in all.iter().enumerate()
        {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(SubagentError::InvalidName(name.clone()));
            }
            if all.iter().take(at).any(|other| other.name == *name) {
                return Err(SubagentError::Duplicate(name.clone()));
            }
            if instructions.trim().is_empty() {
                return Err(SubagentError::NoInstructions(name.clone()));
            }
            let missing =
                agent_tools.iter().find(|tool| **tool != SUBAGENT && !tools.contains(tool));
            if let Some(tool) = missing {
                return Err(SubagentError::UnknownTool { name: name.clone(), tool: tool.clone() });
            }
        }
        Ok(Self { all, models: BTreeMap::new(), mode: None })
    }

    /// Sets the model of one kind of subagent.
    pub fn with_model(mut self, kind: &str, model: &str) -> Result<Self, SubagentError> {
        self.find(kind).ok_or_else(|| SubagentError::UnknownAgent(kind.to_owned()))?;
        self.models.insert(kind.to_owned(), model.to_owned());
        Ok(self)
    }

    /// Sets the model of the mode the caller works in.
    #[must_use]
    pub fn in_mode(self, model: &str) -> Self {
        Self { mode: Some(model.to_owned()), ..self }
    }

    /// Returns the tool that starts subagents; `None` if there are no subagents.
    pub fn tool(self) -> Option<Arc<dyn Tool>> {
        (!self.all.is_empty()).then(|| {
            let spec = ToolSpec::control(SUBAGENT, ToolGroup::Custom);
            let definition = ToolDefinition::new(spec, self.description(), self.schema());
            Arc::new(SubagentTool { agents: self, definition }) as Arc<dyn Tool>
        })
    }

    fn find(&self, kind: &str) -> Option<&Subagent> {
        self.all.iter().find(|agent| agent.name == kind)
    }

    fn description(&self) -> String {
        let kinds = self.all.iter().map(|agent| {
            let knows = if agent.forked { " (knows this conversation)" } else { "" };
            format!("- {}: {}{knows}", agent.name, agent.description)
        });
        format!(
            "Give a piece of work to another agent, which answers with its result. It sees \
             nothing but the task, unless it says otherwise here. Several can work at the same \
             time. The agents:\n{}",
            kinds.collect::<Vec<_>>().join("\n")
        )
    }

    fn schema(&self) -> Value {
        let kinds: Vec<&str> = self.all.iter().map(|agent| agent.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": {
                "agentType": {"type": "string", "enum": kinds, "description": "Which agent."},
                "task": {"type": "string", "minLength": 1,
                    "description": "All that it has to know, and what it is to answer."},
                "modelId": {"type": "string", "description": "Another model than its own."},
            },
            "required": ["agentType", "task"],
            "additionalProperties": false,
        })
    }

    fn start(&self, arguments: Arguments) -> ToolReply {
        let Some(agent) = self.find(&arguments.agent_type) else {
            return ToolReply::Done(ToolOutcome::failed("There is no such agent."));
        };
        let choice = ModelChoice {
            call: arguments.model_id.as_deref(),
            kind: self.models.get(&agent.name).map(String::as_str),
            definition: agent.default_model.as_deref(),
            mode: self.mode.as_deref(),
        };
        ToolReply::Delegate(SubagentTask {
            agent_type: agent.name.clone(),
            model: choice.model().map(str::to_owned),
            system: agent.instructions.as_str().into(),
            task: arguments.task,
            forked: agent.forked,
            tools: agent.tools.clone(),
            own_tools: agent.own_tools.clone(),
            max_steps: agent.max_steps,
            max_credits: agent.max_credits,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    agent_type: String,
    task: String,
    model_id: Option<String>,
}

struct SubagentTool {
    agents: Subagents,
    definition: ToolDefinition,
}

impl Tool for SubagentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let reply = match call.arguments::<Arguments>() {
            Ok(arguments) => self.agents.start(arguments),
            Err(bad) => ToolReply::Done(bad),
        };
        std::future::ready(reply).boxed()
    }
}

#[cfg(test)]
mod tests {
    use ostler_domain::tool::ToolName;

    use super::{ModelChoice, Subagent, SubagentError, Subagents};

    fn explore() -> Subagent {
        Subagent {
            name: "explore".into(),
            description: "looks things up".into(),
            instructions: "You explore.".into(),
            forked: false,
            tools: vec![ToolName::from_static("look")],
            own_tools: Vec::new(),
            max_steps: None,
            max_credits: None,
            default_model: None,
        }
    }

    /// M06: the tool exists only if there are subagents.
    #[test]
    fn m06_the_subagent_tool_exists_only_with_subagents() {
        assert!(Subagents::default().tool().is_none());
        let look = [ToolName::from_static("look")];
        let tool = Subagents::new(vec![explore()], &look).unwrap().tool().unwrap();
        let definition = tool.definition();
        assert_eq!(definition.spec.name.as_str(), "subagent");
        assert!(definition.description.ends_with("- explore: looks things up"));
        assert_eq!(definition.schema["properties"]["agentType"]["enum"][0], "explore");
    }

    /// M07: the call, else the kind, else the definition, else the mode.
    #[test]
    fn m07_the_most_specific_model_wins() {
        let all = ModelChoice {
            call: Some("called"),
            kind: Some("set"),
            definition: Some("own"),
            mode: Some("mode"),
        };
        let check = |choice: ModelChoice<'_>, expected| assert_eq!(choice.model(), expected);
        check(all, Some("called"));
        check(ModelChoice { call: None, ..all }, Some("set"));
        check(ModelChoice { call: Some(" "), ..all }, Some("set"));
        check(ModelChoice { call: None, kind: None, ..all }, Some("own"));
        check(ModelChoice { mode: Some("mode"), ..ModelChoice::default() }, Some("mode"));
        check(ModelChoice::default(), None);
    }

    #[test]
    fn invalid_definitions_are_rejected() {
        let named = |name: &str| Subagent { name: name.into(), ..explore() };
        let silent = Subagent { instructions: " ".into(), ..explore() };
        let look = ToolName::from_static("look");
        let no_tool = SubagentError::UnknownTool { name: "explore".into(), tool: look.clone() };
        let check = |all: Vec<Subagent>, tools: &[ToolName], expected: SubagentError| {
            assert_eq!(Subagents::new(all, tools), Err(expected));
        };
        let existing = std::slice::from_ref(&look);
        check(vec![named("a b")], existing, SubagentError::InvalidName("a b".into()));
        check(vec![named("")], existing, SubagentError::InvalidName(String::new()));
        check(vec![explore(), explore()], existing, SubagentError::Duplicate("explore".into()));
        check(vec![silent], existing, SubagentError::NoInstructions("explore".into()));
        check(vec![explore()], &[], no_tool);
        let set = Subagents::new(vec![explore()], existing).unwrap().with_model("nobody", "m");
        assert_eq!(set, Err(SubagentError::UnknownAgent("nobody".into())));
    }
}
