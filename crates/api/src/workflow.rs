//! Workflows: started, followed, answered and cancelled.

use ostler_domain::id::{EventId, WorkflowId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A workflow in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workflow {
    pub id: WorkflowId,
    pub name: String,
    pub status: String,
    /// Number of finished steps.
    pub finished_steps: usize,
    pub steps: usize,
    /// Tasks that wait for people or events: `STEP`, `STEP/ITEM` or `STEP!undo`.
    pub waiting_tasks: Vec<String>,
    /// Why it failed or was cancelled.
    pub reason: Option<String>,
    /// The workflow whose step has started it.
    pub parent: Option<WorkflowId>,
    /// The task of that workflow.
    #[serde(default)]
    pub parent_task: Option<String>,
    /// Whether a process works on it, or takes it as soon as one runs.
    #[serde(default)]
    pub due: bool,
    /// When the lease of the process that runs it ends, unless it is renewed.
    #[serde(default)]
    pub leased_until: Option<Timestamp>,
    /// In credits, with the workflows that it has started.
    pub spent: u64,
    /// When it continues by itself; `null` while it waits for people or events, or has ended.
    #[serde(default)]
    pub continues_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A workflow with its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowDetail {
    pub workflow: Workflow,
    /// In the order of the definition.
    pub tasks: Vec<WorkflowTask>,
}

/// A task of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowTask {
    /// `STEP`, `STEP/ITEM` or `STEP!undo`.
    pub task: String,
    /// For example `running`, `waits` or `done`.
    pub state: String,
    /// Why it failed.
    pub reason: Option<String>,
    pub result: Option<String>,
    /// The questions that wait for an answer.
    pub questions: Vec<Value>,
    /// The workflows that it has started, oldest first.
    pub children: Vec<ChildWorkflow>,
    /// Decisions about tool calls, and charges.
    pub record: Option<Value>,
    /// When it finished.
    #[serde(default)]
    pub finished_at: Option<Timestamp>,
}

/// A workflow that a step of another one has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildWorkflow {
    pub id: WorkflowId,
    pub name: String,
    pub status: String,
}

/// Body of `POST workflows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartWorkflowRequest {
    /// The definition, with the fields of a workflow file.
    #[serde(default)]
    pub definition: Option<Value>,
    /// Instead of it, the name of a definition that the organization keeps.
    #[serde(default)]
    pub workflow: Option<String>,
    /// An object with the inputs that the definition names.
    #[serde(default)]
    pub input: Option<Value>,
}

/// Response to `POST workflows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartedWorkflow {
    pub id: WorkflowId,
}

/// Body of `POST workflows/WORKFLOW/answers`: what a person says to a task that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TaskAnswer {
    /// Answers a question, or records the outcome of a call whose outcome is unknown.
    Text { task: String, text: String },
    /// Approves a call or a plan.
    Approve {
        task: String,
        /// Replaces the arguments of the call.
        #[serde(default)]
        arguments: Option<Value>,
    },
    /// Rejects a call, a plan or a question.
    Reject { task: String, reason: String },
}

/// Body of `POST workflow-events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishEventRequest {
    /// A repeat with the same id changes nothing.
    #[serde(default)]
    pub id: Option<EventId>,
    /// The name that steps wait for.
    pub name: String,
    #[serde(default)]
    pub payload: Option<Value>,
}

/// Response to `POST workflow-events`: whether a task gets the event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "published", rename_all = "snake_case")]
pub enum PublishedEvent {
    /// A task waited for it and continues.
    Reached { workflow: WorkflowId, task: String },
    /// It is stored for the first step that will wait for it.
    Kept,
    /// It was published before.
    Repeat,
}

/// What a person does to a step of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepChange {
    /// The steps after it run as if it were done, without its result.
    Skip,
    /// Nothing of it starts until it is continued.
    Pause,
    Continue,
}

/// Body of `POST workflows/WORKFLOW/steps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeStepRequest {
    pub step: String,
    pub change: StepChange,
}

/// Response to `POST workflows/WORKFLOW/retry`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetriedWorkflow {
    /// The steps that run again.
    pub steps: Vec<String>,
}

/// A workflow as a picture, with the states of its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowGraph {
    /// A Mermaid flowchart.
    pub mermaid: String,
    /// An SVG picture.
    pub svg: String,
}

/// A call of a workflow's step that waits for an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingWorkflowCall {
    pub workflow: WorkflowId,
    /// The name of the workflow.
    pub name: String,
    pub task: String,
    pub tool: String,
    pub arguments: Value,
    /// Why it needs an approval.
    pub why: String,
}
