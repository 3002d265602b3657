//! Tools: what a model is told of them, and how they are called.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jsonschema::Validator;
use ostler_domain::id::{AgentId, ContactId, OrgId, SessionId};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate::Authorized;
use crate::outcome::{Effect, Outcome};
use crate::tokens;

/// How long a tool may take, unless it says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of a tool's answer for the model, unless it says otherwise.
pub const MAX_OUTPUT: usize = 32 * 1024;

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// What it is.
    fn definition(&self) -> &Definition;

    /// Does it. Only the gate makes an [`Authorized`], so nothing is called that
    /// was not allowed. A local tool changes nothing by itself: it returns
    /// effects. What the model can correct is an outcome, never a panic.
    /// Dropping the future stops it.
    fn call<'a>(&'a self, call: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, Reply>;
}

/// What a tool is.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// What policy knows of it.
    pub spec: ToolSpec,
    /// What the model is told it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
    /// How long it may take.
    pub timeout: Duration,
    /// The most bytes of its answer for the model.
    pub max_output: usize,
    /// Whether a repeat with the same key does nothing more; only such a tool is
    /// called again when nobody knows how its first call ended.
    pub idempotent: bool,
}

impl Definition {
    /// A tool with the usual limits.
    pub fn new(spec: ToolSpec, description: impl Into<String>, schema: Value) -> Self {
        Self {
            spec,
            description: description.into(),
            schema,
            timeout: TIMEOUT,
            max_output: MAX_OUTPUT,
            idempotent: false,
        }
    }
}

/// Where a call happens.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The org.
    pub org: OrgId,
    /// The agent.
    pub agent: AgentId,
    /// The session, in a conversation.
    pub session: Option<SessionId>,
    /// The person it is with, if they are known.
    pub contact: Option<ContactId>,
    /// The time.
    pub now: Timestamp,
    /// The same for every try of the same call.
    pub idempotency_key: String,
    /// What earlier calls of this turn want stored, and is not stored yet.
    pub pending: Arc<[Effect]>,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// This is what it came to.
    Done(Outcome),
    /// A person is asked; the answer is what it comes to.
    Ask(Ask),
    /// Another agent works on it; its answer is what it comes to.
    Delegate(SubTurn),
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Anything.
    Question {
        /// The question.
        question: String,
        /// Answers to choose from; empty if anything goes.
        options: Vec<String>,
    },
    /// Whether a plan is to be followed.
    Plan {
        /// Its title.
        title: Option<String>,
        /// The plan.
        plan: String,
    },
}

/// Work for another agent, inside this turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubTurn {
    /// What kind of agent it is; costs are attributed to it.
    pub agent_type: String,
    /// The model, if it is another one.
    pub model: Option<String>,
    /// Its system prompt. A forked agent has its caller's, and reads this before
    /// its task.
    pub system: Arc<str>,
    /// What it is to do.
    pub task: String,
    /// Whether it begins with all that its caller was told and has done, and not
    /// with its task alone.
    pub forked: bool,
    /// The tools it may use; those that the caller may not use stay closed.
    pub tools: Vec<ToolName>,
}

/// A tool that cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTool {
    /// Its schema is not one.
    #[error("the schema of `{name}` is not a JSON Schema: {why}")]
    Schema {
        /// The tool.
        name: ToolName,
        /// Why.
        why: String,
    },
    /// There are two of this name.
    #[error("there are two tools named `{0}`")]
    Twice(ToolName),
}

struct Entry {
    tool: Arc<dyn Tool>,
    arguments: Validator,
    /// About how many tokens its description and schema take.
    tokens: u64,
}

/// Tools by name, with their schemas ready.
#[derive(Default)]
pub struct ToolSet {
    tools: BTreeMap<ToolName, Entry>,
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}

impl ToolSet {
    /// These tools. Schemas are read here and once, and refer to nothing outside
    /// themselves.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, BadTool> {
        let mut set = Self::default();
        for tool in tools {
            let Definition { spec, schema, description, .. } = tool.definition();
            let name = spec.name.clone();
            let tokens = tokens::of_text(description) + tokens::of_json(schema);
            let arguments = jsonschema::validator_for(schema)
                .map_err(|error| BadTool::Schema { name: name.clone(), why: error.to_string() })?;
            if set.tools.insert(name.clone(), Entry { tool, arguments, tokens }).is_some() {
                return Err(BadTool::Twice(name));
            }
        }
        Ok(set)
    }

    /// A tool.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// What a tool is.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.get(name).map(|tool| tool.definition())
    }

    /// About how many tokens the description of a tool takes.
    pub(crate) fn tokens(&self, name: &str) -> Option<u64> {
        self.tools.get(name).map(|entry| entry.tokens)
    }

    /// What policy knows of each tool.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| &entry.tool.definition().spec)
    }

    /// What is wrong with the arguments of a call, in words that a model can
    /// correct them by.
    pub fn problem_with(&self, name: &str, arguments: &Value) -> Option<String> {
        const MOST: usize = 5;
        let entry = self.tools.get(name)?;
        if entry.arguments.is_valid(arguments) {
            return None;
        }
        let problems: Vec<String> = entry
            .arguments
            .iter_errors(arguments)
            .take(MOST)
            .map(|error| {
                let place = error.instance_path().to_string();
                if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
            })
            .collect();
        Some(problems.join("; "))
    }
}
