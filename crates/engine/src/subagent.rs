//! Agents that another agent gives work to inside its turn: what they are, the
//! tool that gives them work, and which model each of them has.
//!
//! Nothing is run here: a call becomes a [`SubTurn`], and the turn does the rest
//! with the same gate, account and limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gate::Authorized;
use crate::outcome::Outcome;
use crate::tool::{Definition, Reply, SubTurn, Tool, ToolContext};

/// The name of the tool that gives them work.
pub const SUBAGENT: ToolName = ToolName::from_static("subagent");

/// A kind of agent that can be given work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subagent {
    /// What it is called by, such as `explore`.
    pub name: String,
    /// What it is good for, in the words that its caller chooses by.
    pub description: String,
    /// Its system prompt.
    pub instructions: String,
    /// Whether it begins with all that its caller was told and has done, and not
    /// with its task alone.
    #[serde(default)]
    pub forked: bool,
    /// The tools it may use, as far as its caller may use them.
    #[serde(default)]
    pub tools: Vec<ToolName>,
    /// Its model, unless something says another.
    #[serde(default)]
    pub default_model: Option<String>,
}

/// Agents that cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSubagent {
    /// A name is missing or is not one.
    #[error("`{0}` cannot be the name of a subagent: use letters, digits, `-` and `_`")]
    Name(String),
    /// There are two of this name.
    #[error("there are two subagents named `{0}`; give one of them another name")]
    Twice(String),
    /// One has nothing to go by.
    #[error("the subagent `{0}` has no instructions; say what it is and how it works")]
    NoInstructions(String),
    /// One is given a tool that is not there.
    #[error("the subagent `{name}` is given the tool `{tool}`, which is not there")]
    NoTool {
        /// The agent.
        name: String,
        /// The tool.
        tool: ToolName,
    },
    /// A model is set for an agent that is not there.
    #[error("a model is set for the subagent `{0}`, which is not there")]
    NoSuch(String),
}

/// What decides on the model of a subagent, the most specific first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelChoice<'a> {
    /// What the call says.
    pub call: Option<&'a str>,
    /// What is set for agents of this kind.
    pub kind: Option<&'a str>,
    /// What the agent's definition says.
    pub definition: Option<&'a str>,
    /// What the mode that the caller works in has.
    pub mode: Option<&'a str>,
}

impl<'a> ModelChoice<'a> {
    /// The model; none is the caller's own.
    pub fn model(self) -> Option<&'a str> {
        let rungs = [self.call, self.kind, self.definition, self.mode];
        rungs.into_iter().flatten().map(str::trim).find(|name| !name.is_empty())
    }
}

/// The agents that can be given work, and what is set for their models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subagents {
    all: Vec<Subagent>,
    models: BTreeMap<String, String>,
    mode: Option<String>,
}

impl Subagents {
    /// These agents; `tools` are all that there are.
    pub fn new(all: Vec<Subagent>, tools: &[ToolName]) -> Result<Self, BadSubagent> {
        for (at, Subagent { name, instructions, tools: given, .. }) in all.iter().enumerate() {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(BadSubagent::Name(name.clone()));
            }
            if all.iter().take(at).any(|other| other.name == *name) {
                return Err(BadSubagent::Twice(name.clone()));
            }
            if instructions.trim().is_empty() {
                return Err(BadSubagent::NoInstructions(name.clone()));
            }
            let missing = given.iter().find(|tool| **tool != SUBAGENT && !tools.contains(tool));
            if let Some(tool) = missing {
                return Err(BadSubagent::NoTool { name: name.clone(), tool: tool.clone() });
            }
        }
        Ok(Self { all, models: BTreeMap::new(), mode: None })
    }

    /// The same, with a model set for agents of one kind.
    pub fn with_model(mut self, kind: &str, model: &str) -> Result<Self, BadSubagent> {
        self.find(kind).ok_or_else(|| BadSubagent::NoSuch(kind.to_owned()))?;
        self.models.insert(kind.to_owned(), model.to_owned());
        Ok(self)
    }

    /// The same, called from a mode with this model.
    #[must_use]
    pub fn in_mode(self, model: &str) -> Self {
        Self { mode: Some(model.to_owned()), ..self }
    }

    /// The tool that gives them work; none if there is nobody to give it to.
    pub fn tool(self) -> Option<Arc<dyn Tool>> {
        (!self.all.is_empty()).then(|| {
            let spec = ToolSpec::control(SUBAGENT, ToolGroup::Custom);
            let definition = Definition::new(spec, self.description(), self.schema());
            Arc::new(Delegate { agents: self, definition }) as Arc<dyn Tool>
        })
    }

    fn find(&self, kind: &str) -> Option<&Subagent> {
        self.all.iter().find(|one| one.name == kind)
    }

    fn description(&self) -> String {
        let kinds = self.all.iter().map(|one| {
            let knows = if one.forked { " (knows this conversation)" } else { "" };
            format!("- {}: {}{knows}", one.name, one.description)
        });
        format!(
            "Give a piece of work to another agent, which answers with its result. It sees \
             nothing but the task, unless it says otherwise here. Several can work at the same \
             time. The agents:\n{}",
            kinds.collect::<Vec<_>>().join("\n")
        )
    }

    fn schema(&self) -> Value {
        let kinds: Vec<&str> = self.all.iter().map(|one| one.name.as_str()).collect();
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

    fn start(&self, given: Arguments) -> Reply {
        let Some(agent) = self.find(&given.agent_type) else {
            return Reply::Done(Outcome::failed("There is no such agent."));
        };
        let choice = ModelChoice {
            call: given.model_id.as_deref(),
            kind: self.models.get(&agent.name).map(String::as_str),
            definition: agent.default_model.as_deref(),
            mode: self.mode.as_deref(),
        };
        Reply::Delegate(SubTurn {
            agent_type: agent.name.clone(),
            model: choice.model().map(str::to_owned),
            system: agent.instructions.as_str().into(),
            task: given.task,
            forked: agent.forked,
            tools: agent.tools.clone(),
        })
    }
}

/// What the tool is called with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    agent_type: String,
    task: String,
    model_id: Option<String>,
}

struct Delegate {
    agents: Subagents,
    definition: Definition,
}

impl Tool for Delegate {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        let reply = match call.arguments::<Arguments>() {
            Ok(given) => self.agents.start(given),
            Err(bad) => Reply::Done(bad),
        };
        std::future::ready(reply).boxed()
    }
}

#[cfg(test)]
mod tests {
    use ostler_domain::tool::ToolName;

    use super::{BadSubagent, ModelChoice, Subagent, Subagents};

    fn explore() -> Subagent {
        Subagent {
            name: "explore".into(),
            description: "looks things up".into(),
            instructions: "You explore.".into(),
            forked: false,
            tools: vec![ToolName::from_static("look")],
            default_model: None,
        }
    }

    /// M06: there is no such tool without somebody to give work to.
    #[test]
    fn m06_the_tool_is_there_only_with_subagents() {
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
    fn bad_definitions_are_refused() {
        let named = |name: &str| Subagent { name: name.into(), ..explore() };
        let silent = Subagent { instructions: " ".into(), ..explore() };
        let look = ToolName::from_static("look");
        let no_tool = BadSubagent::NoTool { name: "explore".into(), tool: look.clone() };
        let check = |all: Vec<Subagent>, tools: &[ToolName], expected: BadSubagent| {
            assert_eq!(Subagents::new(all, tools), Err(expected));
        };
        let there = std::slice::from_ref(&look);
        check(vec![named("a b")], there, BadSubagent::Name("a b".into()));
        check(vec![named("")], there, BadSubagent::Name(String::new()));
        check(vec![explore(), explore()], there, BadSubagent::Twice("explore".into()));
        check(vec![silent], there, BadSubagent::NoInstructions("explore".into()));
        check(vec![explore()], &[], no_tool);
        let set = Subagents::new(vec![explore()], there).unwrap().with_model("nobody", "m");
        assert_eq!(set, Err(BadSubagent::NoSuch("nobody".into())));
    }
}
