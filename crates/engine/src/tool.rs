//! The tool interface: definitions, calls and replies.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jsonschema::Validator;
use ostler_domain::id::{AgentId, ContactId, OrgId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, ToolName, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::extensions::Extensions;
use crate::gate::Authorized;
use crate::outcome::{ToolEffect, ToolOutcome};
use crate::tokens;

/// The timeout of a tool that sets none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The output limit in bytes of a tool that sets none.
pub const DEFAULT_MAX_OUTPUT: usize = 32 * 1024;

/// A tool that a model can call.
pub trait Tool: Send + Sync {
    /// Returns the definition shown to the model.
    fn definition(&self) -> &ToolDefinition;

    /// Runs the tool. Only the gate creates [`Authorized`] calls, so nothing runs that
    /// was not allowed. A local tool changes nothing itself but returns effects.
    /// Mistakes the model can correct are outcomes, never panics. Dropping the future
    /// cancels the call.
    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply>;
}

/// The definition of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// What policy decides by.
    pub spec: ToolSpec,
    /// What the model is told the tool does.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub schema: Value,
    pub timeout: Duration,
    /// The most bytes of output shown to the model.
    pub max_output: usize,
    /// Whether repeating a call with the same idempotency key has no further effect.
    /// Only such tools are called again when an outcome is unknown.
    pub idempotent: bool,
    /// Whether a call checks what earlier calls of the turn recorded. Such calls run one
    /// after the other. Local tools that write always do.
    pub sequential: bool,
}

impl ToolDefinition {
    /// Creates a definition with the default limits.
    pub fn new(spec: ToolSpec, description: impl Into<String>, schema: Value) -> Self {
        Self {
            spec,
            description: description.into(),
            schema,
            timeout: DEFAULT_TIMEOUT,
            max_output: DEFAULT_MAX_OUTPUT,
            idempotent: false,
            sequential: false,
        }
    }
}

/// The context of a tool call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub org: OrgId,
    pub agent: AgentId,
    /// `None` outside a conversation.
    pub session: Option<SessionId>,
    /// `None` if the person is not known.
    pub contact: Option<ContactId>,
    /// For whom the turn answers.
    pub audience: Audience,
    pub now: Timestamp,
    /// The same for every attempt of the same call.
    pub idempotency_key: String,
    /// The effects of earlier calls of this turn, which are not stored yet.
    pub pending: Arc<[ToolEffect]>,
    /// What the host of the turn provides.
    pub extensions: Extensions,
}

/// The reply of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolReply {
    Done(ToolOutcome),
    /// Asks a person; their answer becomes the outcome.
    Ask(UserQuestion),
    /// Starts a subagent; its answer becomes the outcome.
    Delegate(SubagentTask),
}

/// A question from a tool to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum UserQuestion {
    Question {
        question: String,
        /// The possible answers; empty if any answer is accepted.
        options: Vec<String>,
    },
    /// Asks for approval of a plan.
    Plan { title: Option<String>, plan: String },
}

/// Work for a subagent inside this turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentTask {
    /// The kind of subagent; its costs are recorded under this name.
    pub agent_type: String,
    /// `None` means the caller's model.
    pub model: Option<String>,
    /// The system prompt. A forked subagent keeps its caller's and reads this text
    /// before its task.
    pub system: Arc<str>,
    pub task: String,
    /// Whether it starts with the caller's conversation instead of its task alone.
    pub forked: bool,
    /// The tools it may use; tools the caller may not use stay unavailable.
    pub tools: Vec<ToolName>,
    /// Tools that only this kind of subagent has, whatever its caller has. Scope and
    /// gate apply to them as to all others.
    #[serde(default)]
    pub own_tools: Vec<ToolName>,
    /// The most answers it may give.
    #[serde(default)]
    pub max_steps: Option<u32>,
    /// The most credits it may spend, with the subagents that it starts.
    #[serde(default)]
    pub max_credits: Option<Credits>,
}

/// The reason why a set of tools cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolSetError {
    /// The schema is not a valid JSON Schema.
    #[error("the schema of `{name}` is not a valid JSON Schema: {why}")]
    Schema { name: ToolName, why: String },
    #[error("there are two tools named `{0}`")]
    Duplicate(ToolName),
}

/// The tools that an org has besides those of every org.
#[derive(Clone, Default)]
pub struct OrgToolList {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that replace the built-in ones of the same name.
    pub replacements: Vec<Arc<dyn Tool>>,
    /// What the org has defined and cannot use at the moment.
    pub unavailable: Vec<UnavailableTool>,
}

impl fmt::Debug for OrgToolList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tools.iter().map(|tool| &tool.definition().spec.name);
        f.debug_list().entries(names).finish()
    }
}

/// A tool of an org that cannot be used at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnavailableTool {
    /// The name of the tool, or `mcp__SERVER__*` for all tools of a server.
    pub name: String,
    pub reason: String,
}

struct Entry {
    tool: Arc<dyn Tool>,
    arguments: Validator,
    /// An estimate for the description and the schema.
    tokens: u64,
}

/// Checks that a value is a JSON Schema. Fails with the reason.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    jsonschema::validator_for(schema).map(drop).map_err(|error| error.to_string())
}

/// Tools by name, with compiled schemas. Clones share the tools.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: BTreeMap<ToolName, Arc<Entry>>,
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}

impl ToolSet {
    /// Compiles the schemas of these tools. Schemas must not refer to other documents.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, ToolSetError> {
        let mut set = Self::default();
        for tool in tools {
            set.add(tool)?;
        }
        Ok(set)
    }

    /// Adds a tool. Fails without a change if there is one of this name, or if its schema
    /// cannot be compiled.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolSetError> {
        let ToolDefinition { spec, schema, description, .. } = tool.definition();
        let name = spec.name.clone();
        if self.tools.contains_key(&name) {
            return Err(ToolSetError::Duplicate(name));
        }
        let tokens = tokens::of_text(description) + tokens::of_json(schema);
        let arguments = jsonschema::validator_for(schema)
            .map_err(|error| ToolSetError::Schema { name: name.clone(), why: error.to_string() })?;
        self.tools.insert(name, Arc::new(Entry { tool, arguments, tokens }));
        Ok(())
    }

    /// Adds a tool in place of the one of the same name. Fails without a change if its schema
    /// cannot be compiled.
    pub fn replace(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolSetError> {
        let name = tool.definition().spec.name.clone();
        let replaced = self.tools.remove(&name);
        let added = self.add(tool);
        if let (Err(_), Some(entry)) = (&added, replaced) {
            self.tools.insert(name, entry);
        }
        added
    }

    /// Returns the tools whose specification `keep` accepts.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&ToolSpec) -> bool) -> Self {
        let kept = self.tools.iter().filter(|(_, entry)| keep(&entry.tool.definition().spec));
        Self { tools: kept.map(|(name, entry)| (name.clone(), entry.clone())).collect() }
    }

    /// Adds the tools of another set whose names are free here.
    pub fn add_missing(&mut self, other: &Self) {
        for (name, entry) in &other.tools {
            self.tools.entry(name.clone()).or_insert_with(|| entry.clone());
        }
    }

    /// Returns a tool by name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Returns the definition of a tool.
    pub fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        self.get(name).map(|tool| tool.definition())
    }

    /// Returns the estimated tokens of a tool's definition.
    pub(crate) fn tokens(&self, name: &str) -> Option<u64> {
        self.tools.get(name).map(|entry| entry.tokens)
    }

    /// Returns the policy specification of every tool.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| &entry.tool.definition().spec)
    }

    /// Describes what is wrong with the arguments of a call, in words from which a
    /// model can correct them; `None` if they are valid.
    pub fn argument_problems(&self, name: &str, arguments: &Value) -> Option<String> {
        const MAX_PROBLEMS: usize = 5;
        let entry = self.tools.get(name)?;
        if entry.arguments.is_valid(arguments) {
            return None;
        }
        let problems: Vec<String> = entry
            .arguments
            .iter_errors(arguments)
            .take(MAX_PROBLEMS)
            .map(|error| {
                let place = error.instance_path().to_string();
                if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
            })
            .collect();
        Some(problems.join("; "))
    }
}
