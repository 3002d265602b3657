//! Errors of operations, as sentences for the person who asked.

use ostler_domain::agent::AgentCreationRefused;
use ostler_domain::agent::protection::AgentChangeRefused;
use ostler_domain::contact::InvalidEmail;
use ostler_domain::hierarchy::MissingField;
use ostler_domain::hierarchy::route::NoRoute;
use ostler_domain::human::escalation::EscalationError;
use ostler_domain::id::{ApprovalId, BindingId, DocumentId, EnvelopeId, RunId, WorkflowId};
use ostler_domain::knowledge::DocumentError;
use ostler_domain::org::guardrail::GuardrailRefusal;
use ostler_domain::org::new_key::NewKeyRefused;
use ostler_domain::org::people::RoleChangeRefused;
use ostler_domain::org::role::Role;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::refund::RefundSettled;
use ostler_domain::session::status::IllegalStatusChange;
use ostler_domain::soul::NoSuchVersion;
use ostler_domain::soul::proposal::ProposalRefused;
use ostler_domain::team::TeamAssemblyRefused;
use ostler_domain::tool::ToolProblem;
use ostler_domain::webhook::InvalidWebhook;
use ostler_domain::workflow::{ControlRefused, InputMismatch, StepName};
use ostler_store::StoreError;

use crate::agents::QueueError;
use crate::hierarchy::plan::ExchangeError;
use crate::records::UnreadableRecord;
use crate::workflow::ExpressionError;

/// Why an operation on a workflow was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowRefused {
    #[error("the workflow needs the input `{0}`; give it with --input '{{\"{0}\": …}}'")]
    MissingInput(String),
    #[error("the workflow has no input `{0}`; add it to its `inputs` or leave it out")]
    NoInput(String),
    #[error("the input of a workflow is a JSON object, such as {{\"order\": \"1234\"}}")]
    InputShape,
    #[error("there is no workflow `{0}` here")]
    NoDefinition(String),
    #[error("the schedule cannot start its workflow: {0}")]
    Schedule(String),
    #[error("the step `{0}` has no agent; name an `agent` for the step or for the workflow")]
    NoStepAgent(StepName),
    #[error(
        "the step `{step}` calls the tool `{tool}`, which does not exist here; see `ostler tools ls`"
    )]
    NoTool { step: StepName, tool: String },
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    #[error("`{task}` does not wait for {what}; `ostler workflow show` shows what it waits for")]
    NotWaiting { task: String, what: &'static str },
    #[error("`{answer}` is not one of the answers: {options}")]
    NotAnOption { answer: String, options: String },
    #[error("`{0}` has already been answered")]
    AlreadyAnswered(String),
    #[error("this workflow was started by a step of {0}; retry that one")]
    IsChild(WorkflowId),
    #[error("this workflow has ended or was cancelled")]
    AlreadyEnded,
    #[error(transparent)]
    Control(#[from] ControlRefused),
    #[error("this workflow has changed since; try again")]
    ChangedSince,
}

/// Why an operation on queue agents was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueAgentRefused {
    #[error("no agent `{0}` is registered; name its type to register it: --type echo or human")]
    NoType(AgentName),
    #[error("agent `{name}` is registered with the type {agent_type}; remove it first")]
    OtherType { name: AgentName, agent_type: String },
    #[error("agent `{0}` has a queue and a process of its own; start that process instead")]
    OwnProcess(AgentName),
    #[error("agent `{0}` is running; stop it first")]
    Running(AgentName),
    #[error(
        "agent `{0}` belongs to the organization: it needs no type, and cannot be removed here"
    )]
    OrgAgent(AgentName),
    #[error("agent `{name}` is in the team {team}; remove it there first")]
    InTeam { name: AgentName, team: TeamName },
    #[error("agent `{name}` has {count} unanswered messages; see `ostler worklist ls`")]
    OpenWork { name: AgentName, count: usize },
    #[error("`{0}` is already a member of this team")]
    AlreadyMember(AgentName),
    #[error("no message {0} is on a work list; it was already answered or never sent")]
    NotOnWorkList(EnvelopeId),
    #[error(
        "this message asks for the approval of a plan; answer it with `ostler plan approve {0}`"
    )]
    IsPlan(EnvelopeId),
    #[error("no agent `{0}` is registered that could approve this")]
    NoApprover(AgentName),
    #[error(
        "no process runs `{0}`; start `ostler serve` or `ostler worker`, or leave the message in \
         its queue with --no-reply"
    )]
    NotServed(AgentName),
    #[error("{0}")]
    NoReply(String),
    #[error("no plan {0} waits for an answer; it was already answered or never proposed")]
    NoPlan(EnvelopeId),
}

/// Why an operation was refused. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    #[error("{who} may not {what}; only {holders} may")]
    Forbidden { who: String, what: &'static str, holders: &'static str },
    /// The business layer of an agent does not allow it.
    #[error(transparent)]
    Guardrail(#[from] GuardrailRefusal),
    #[error("there is an organization `{0}` already; choose another short name")]
    SlugTaken(String),
    #[error("there is {0} already; choose another name, or change that one")]
    Exists(String),
    /// A change was based on an old version.
    #[error("it was changed meanwhile; read it again and repeat your change")]
    Changed,
    #[error("no organization `{0}` here")]
    NoOrg(String),
    #[error("only a person changes the setting `{0}`; see `ostler settings`")]
    OwnersSetting(String),
    #[error("the bot cannot be used: {0}")]
    UnusableBot(String),
    #[error(transparent)]
    RoleChange(#[from] RoleChangeRefused),
    #[error(transparent)]
    NewKey(#[from] NewKeyRefused),
    #[error("`{0}` is not an e-mail address")]
    NotEmail(String),
    #[error("{email} is a member already, as {role}; change the role instead")]
    AlreadyMember { email: String, role: Role },
    #[error("`{0}` is neither a member nor invited here")]
    NoMember(String),
    #[error("`{name}` names several people: {candidates}; use one of these")]
    ManyPeople { name: String, candidates: String },
    #[error(
        "nobody here who works in the inbox is called `{0}`; see `ostler member ls` for names and \
         e-mail addresses"
    )]
    NoAssignee(String),
    #[error("run {run} cannot be run again: {why}")]
    NotReplayable { run: RunId, why: &'static str },
    #[error("{what} has at most {max_bytes} bytes; shorten it")]
    TooLong { what: &'static str, max_bytes: usize },
    #[error("{0}; ask for a new one")]
    Invitation(&'static str),
    #[error(
        "no account here has this e-mail address, or the provider has not verified it; ask for \
         an invitation"
    )]
    NotInvited,
    #[error("user accounts are managed in the platform's organization")]
    NotPlatform,
    #[error("no channel `{name}` here; the channels are: {}", known_or_none(.known))]
    NoChannel { name: String, known: String },
    #[error("no user has the id or e-mail address `{0}`")]
    NoUser(String),
    #[error("no linked account has this identifier or user: `{0}`; see `ostler link ls`")]
    NoAccountLink(String),
    #[error("the operating system provides no random numbers")]
    NoRandomNumbers,
    #[error("no contact or visitor `{0}` in this organization; see `ostler contact ls`")]
    NoContact(String),
    #[error("these are the same contact already")]
    SameContact,
    #[error("this text is in the knowledge base already, as `{title}` ({id}); change that one")]
    SameDocument { title: String, id: DocumentId },
    #[error(transparent)]
    Refund(#[from] RefundSettled),
    #[error("no {kind} has the key or id `{key}`")]
    NoRecord { kind: String, key: String },
    #[error(transparent)]
    Escalation(#[from] EscalationError),
    /// Holds the name of the person.
    #[error("{0} has taken this conversation over")]
    TakenOverBy(String),
    #[error(transparent)]
    QueueAgent(#[from] QueueAgentRefused),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Status(#[from] IllegalStatusChange),
    #[error(transparent)]
    Team(#[from] TeamAssemblyRefused),
    /// A resource of a world file that cannot be stored.
    #[error("{0}")]
    BadResource(String),
    #[error(transparent)]
    AgentChange(#[from] AgentChangeRefused),
    #[error(transparent)]
    SoulVersion(#[from] NoSuchVersion),
    #[error(transparent)]
    SoulProposal(#[from] ProposalRefused),
    #[error(
        "no other autonomy level of `{0}` waits for a decision; see `ostler agent promotion ls`"
    )]
    NoLevelProposal(String),
    #[error("the autonomy level of `{0}` was changed meanwhile; reject the proposal")]
    LevelChanged(String),
    #[error("no model is configured for this agent; see `ostler model ls`")]
    NoModel,
    #[error("there are no credits for this: {0}")]
    NoCredits(&'static str),
    #[error("the model gave no answer; try again later")]
    ModelFailed,
    #[error("this agent has no soul yet")]
    NoSoul,
    #[error("no agent `{0}` in this organization")]
    NoAgent(String),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("these arguments are not valid for {tool}: {problem}")]
    BadArguments { tool: String, problem: String },
    #[error("the tool `{0}` does not exist any more; reject the call instead")]
    NoTool(String),
    #[error("the {kind} `{name}` was not saved:\n{}", list(.problems))]
    InvalidTool { kind: &'static str, name: String, problems: Vec<ToolProblem> },
    #[error("no {kind} `{name}` in this organization{}", known_names(.known))]
    NoOwnTool { kind: &'static str, name: String, known: String },
    #[error("the tool `{name}` is not available: {reason}")]
    ToolUnavailable { name: String, reason: String },
    #[error("`{0}` is not a tool that this organization has defined; see `ostler tools ls --org`")]
    NotOwnTool(String),
    #[error("no tool uses `{name}`; services that can be connected: {known}")]
    NoService { name: String, known: String },
    /// A decision is given once; the call is made for the first.
    #[error("{0} is approved already, and the call is about to be made")]
    AlreadyApproved(ApprovalId),
    #[error("`{0}` is not connected here")]
    NotConnected(String),
    #[error("this organization has no agent that can answer; create one first")]
    NoAnsweringAgent,
    /// A bot has one binding, because Telegram delivers each update once.
    #[error("this bot already has the binding {0}; change that one instead")]
    AlreadyBound(BindingId),
    #[error("{0} must not be empty")]
    Empty(&'static str),
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    #[error(transparent)]
    Agent(#[from] AgentCreationRefused),
    #[error("no binding of {0} is enabled, so the customer cannot be reached; connect one")]
    Unreachable(String),
    #[error(transparent)]
    Workflow(#[from] WorkflowRefused),
    #[error(transparent)]
    Webhook(#[from] InvalidWebhook),
    #[error("this webhook is off, so nothing is sent to it; enable it first")]
    WebhookOff,
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
    #[error(transparent)]
    MissingField(#[from] MissingField),
    /// The rules of the exchange between business layers refuse it.
    #[error(transparent)]
    Exchange(ExchangeError),
    #[error("this conversation keeps changing; look at it again and repeat the operation")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unreadable(#[from] UnreadableRecord),
}

impl OperationError {
    /// Returns whether somebody asked for what they may not do, or for what is not in the org
    /// that they named. The audit log has such refusals.
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Forbidden { .. }
                | Self::Guardrail(_)
                | Self::RoleChange(_)
                | Self::NewKey(NewKeyRefused::WiderScopes(_) | NewKeyRefused::OutlivesMaker)
                | Self::NotPlatform
                | Self::OwnersSetting(_)
                | Self::AgentChange(_)
                | Self::NoRoute(_)
                | Self::NoOrg(_)
                | Self::NoMember(_)
                | Self::NoUser(_)
                | Self::NoChannel { .. }
                | Self::NoAccountLink(_)
                | Self::NoContact(_)
                | Self::NoRecord { .. }
                | Self::NoOwnTool { .. }
                | Self::NoAgent(_)
                | Self::NoLevelProposal(_)
                | Self::Store(StoreError::NotFound(_))
        )
    }
}

impl From<InputMismatch> for WorkflowRefused {
    fn from(mismatch: InputMismatch) -> Self {
        match mismatch {
            InputMismatch::Missing(name) => Self::MissingInput(name),
            InputMismatch::Unknown(name) => Self::NoInput(name),
        }
    }
}

impl From<ExchangeError> for OperationError {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Store(error) => Self::Store(error),
            other => Self::Exchange(other),
        }
    }
}

fn list(problems: &[ToolProblem]) -> String {
    let lines = problems.iter().map(|problem| format!("  {problem}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn known_or_none(known: &str) -> &str {
    if known.is_empty() { "none" } else { known }
}

fn known_names(known: &str) -> String {
    if known.is_empty() { String::new() } else { format!("; there are: {known}") }
}
