//! Why an operation was not done, in sentences for whoever asked.

use ostler_domain::human::escalation::EscalationError;
use ostler_domain::id::BindingId;
use ostler_domain::knowledge::DocumentError;
use ostler_domain::session::status::IllegalChange;
use ostler_domain::team::TeamRefused;
use ostler_domain::workflow::StepName;
use ostler_store::StoreError;

use crate::talk::Unreadable;

/// Why something was not done to a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowRefused {
    /// An input is missing.
    #[error("the workflow needs the input `{0}`; give it with --input '{{\"{0}\": …}}'")]
    MissingInput(String),
    /// An input is not one of the workflow's.
    #[error("the workflow has no input `{0}`; add it to its `inputs` or leave it out")]
    NoInput(String),
    /// Its inputs are no table.
    #[error("the input of a workflow is a JSON object, such as {{\"order\": \"1234\"}}")]
    InputShape,
    /// Nobody works on a step.
    #[error("nobody works on the step `{0}`; name an `agent` there or for the whole workflow")]
    Nobody(StepName),
    /// A tool is not there.
    #[error("the step `{step}` calls the tool `{tool}`, which is not here; see `ostler tools ls`")]
    NoTool {
        /// The step.
        step: StepName,
        /// The tool.
        tool: String,
    },
    /// A task does not wait for what was said.
    #[error("`{task}` does not wait for {what}; `ostler workflow show` says what it waits for")]
    NotWaiting {
        /// The task.
        task: String,
        /// What was said.
        what: &'static str,
    },
    /// The answer is not one of those to choose from.
    #[error("`{answer}` is not one of the answers: {options}")]
    NotAnOption {
        /// What was answered.
        answer: String,
        /// What can be.
        options: String,
    },
    /// Somebody has answered already.
    #[error("somebody has answered `{0}` already")]
    Answered(String),
    /// It is over.
    #[error("this workflow is over, or was cancelled already")]
    Over,
}

/// Why an operation was not done. Nothing is changed after any of them.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// The actor may not do this here.
    #[error("{who} may not {what}; ask an owner of it for a role that may")]
    Forbidden {
        /// Who asked.
        who: &'static str,
        /// For what.
        what: &'static str,
    },
    /// The escalation does not allow it.
    #[error(transparent)]
    Escalation(#[from] EscalationError),
    /// The session does not allow it.
    #[error(transparent)]
    Status(#[from] IllegalChange),
    /// These agents make no team.
    #[error(transparent)]
    Team(#[from] TeamRefused),
    /// An agent that was named is not there.
    #[error("no agent `{0}` in this organization")]
    NoAgent(String),
    /// A text is no document.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Changed arguments do not fit the tool.
    #[error("these arguments do not fit {tool}: {problem}")]
    BadArguments {
        /// The tool.
        tool: String,
        /// What is wrong.
        problem: String,
    },
    /// The tool of a call is not there.
    #[error("there is no tool `{0}` here any more; reject the call instead")]
    NoTool(String),
    /// No tool uses this service.
    #[error("no tool here uses `{name}`; those that can be connected are: {known}")]
    NoService {
        /// What was named.
        name: String,
        /// The services that tools use.
        known: String,
    },
    /// The service was never connected.
    #[error("`{0}` is not connected here")]
    NotConnected(String),
    /// There is nobody to answer on a channel.
    #[error("this organization has no agent that could answer; make one first")]
    Nobody,
    /// A bot has one binding: Telegram gives each update out once.
    #[error("this bot is bound already, as {0}; change that binding instead")]
    Bound(BindingId),
    /// Something has to be said and was not.
    #[error("{0} must not be empty")]
    Empty(&'static str),
    /// The customer cannot be reached.
    #[error("nothing is connected to {0} any more, so the customer cannot be reached; connect it")]
    NoWay(String),
    /// A workflow cannot be started like this.
    #[error(transparent)]
    Workflow(#[from] WorkflowRefused),
    /// Others were faster, again and again.
    #[error("this conversation keeps changing; look at it again and repeat what you wanted")]
    Busy,
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something stored cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}
