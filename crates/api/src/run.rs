//! Runs: how messages were answered, and in which harness.

use ostler_domain::gate::GateDecision;
use ostler_domain::id::{AgentId, InboxId, RunId, SessionId};
use ostler_domain::money::Credits;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::run_diff::{TurnDiff, TurnPath};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::removal::Removal;
use ostler_domain::soul::Soul;
use ostler_domain::tool::ToolSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session::Run;
use crate::transcript::RuleSetting;

/// A run with its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDetail {
    pub run: Run,
    pub session: SessionId,
    /// The inbox entries that it answers.
    pub input: Vec<InboxId>,
    pub steps: Vec<RunStep>,
}

/// A step of a run. Numbers are names of steps: they are not in the order in which steps run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStep {
    /// Such as `3` or `7.5`.
    pub step: String,
    pub name: String,
    pub took_us: u64,
}

/// The harness of each turn of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHarness {
    pub run: RunId,
    pub turns: Vec<TurnHarness>,
}

/// The harness of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnHarness {
    pub agent: AgentId,
    /// Nine groups: identity, soul, tool scope, credit budget, autonomy, rate limits, session
    /// context, error state and escalation state.
    pub harness: Value,
}

/// A run as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoredRun {
    /// The whole record; its fields may change with the version of the server.
    pub record: Value,
    /// The souls that its turns used, in their order; empty ones for versions that are gone.
    pub souls: Vec<Soul>,
}

/// What an agent may call, with the decision on each tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolExplanation {
    pub agent: AgentId,
    pub agent_name: String,
    pub business_layer: BusinessLayer,
    /// The business layer whose guardrails apply.
    pub guarded_as_business_layer: BusinessLayer,
    /// Absent for a new conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    pub tools: Vec<ExplainedTool>,
    /// The organization's own tools that cannot be used at the moment, each with the reason.
    pub unavailable: Vec<MissingTool>,
}

/// A tool and why an agent has it or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTool {
    pub name: String,
    /// `read`, `write` or `destructive`.
    pub risk: String,
    /// Whether the scope of the agent has it.
    pub in_scope: bool,
    /// `allow`, `ask` or `deny`: what would happen to a call now.
    pub decision: String,
    /// The reason, in words.
    pub why: String,
    /// What policy knows of the tool.
    #[schemars(with = "Value")]
    pub spec: ToolSpec,
    /// The whole decision, with its reason.
    #[schemars(with = "Value")]
    pub verdict: GateDecision,
    /// The first rule that removed the tool from the scope.
    #[schemars(with = "Option<Value>")]
    pub removal: Option<Removal>,
    /// The setting that the decision comes from; only if settings were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<RuleSetting>,
}

/// A tool that cannot be used at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingTool {
    pub name: String,
    pub reason: String,
}

/// Body of `POST runs/ID/replay`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayRequest {
    /// The model of all agents, instead of those of the run.
    pub model: Option<String>,
    /// The tool policy of the organization, instead of that of the run.
    pub policy: Option<ToolPolicy>,
}

/// What a replay would do and cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayPlan {
    pub run: RunId,
    /// The models that are asked, in order of preference; empty for the installation's
    /// default.
    pub models: Vec<String>,
    /// The turns of the run, as they were recorded.
    pub turns: Vec<PlannedTurn>,
    /// What the tokens of the run cost with the model, which the organization pays. A turn
    /// costs a credit at least.
    pub estimate: Credits,
}

/// A turn of a run, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTurn {
    pub agent: AgentId,
    /// The system prompt, built again from what the run names.
    pub prompt: String,
    pub recorded: TurnPath,
}

/// A run that was run again, with recorded tool results and without effects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunReplay {
    pub plan: ReplayPlan,
    pub turns: Vec<TurnReplay>,
    /// What the organization was charged for the model.
    pub charged: Credits,
    /// What could not be as it was.
    pub notes: Vec<String>,
}

/// A turn that was run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnReplay {
    pub agent: AgentId,
    pub recorded: TurnPath,
    pub replayed: TurnPath,
    pub diff: TurnDiff,
    pub took_ms: u64,
}
