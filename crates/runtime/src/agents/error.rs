//! Errors of agents on queues.

use ostler_bus::BusError;
use ostler_domain::queue_agent::delegation::DelegationRefused;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::plan::PlanRefused;
use ostler_domain::queue_agent::selection::NoCapableAgent;
use ostler_domain::queue_agent::team_lifecycle::TeamChangeRefused;

/// The result of an operation on agents, teams and delegations.
pub type Result<T, E = QueueError> = std::result::Result<T, E>;

/// Why an operation on agents failed.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("the agent records could not be read or written: {0}")]
    Records(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Delegation(#[from] DelegationRefused),
    #[error(transparent)]
    Team(#[from] TeamChangeRefused),
    #[error(transparent)]
    Plan(#[from] PlanRefused),
    #[error(
        "no plan of `{0}` is waiting for this answer; it was already answered or never proposed"
    )]
    UnknownPlan(AgentName),
    #[error(transparent)]
    NoAgentAvailable(#[from] NoCapableAgent),
    #[error("no agent `{0}` is registered")]
    UnknownAgent(AgentName),
    #[error("agent `{0}` is stopped; start it, then replay its dead letters")]
    AgentStopped(AgentName),
    #[error("agent `{0}` is already running in this process; stop it first or choose another name")]
    AlreadyRunning(AgentName),
    /// The placement of a registered agent cannot be changed.
    #[error("agent `{0}` is registered with another placement; remove it first")]
    PlacementConflict(AgentName),
    #[error("there is no team `{0}` in this organization; see `ostler team ls`, also with --org")]
    UnknownTeam(TeamName),
    /// A team of this name exists and is not complete.
    #[error("team `{0}` already exists; dissolve it first or choose another name")]
    TeamExists(TeamName),
    #[error("unknown agent type `{0}`; register a factory for it")]
    UnknownAgentType(String),
    /// The factory could not create an agent from its record.
    #[error("the record of agent `{agent}` is invalid: {reason}")]
    InvalidRecord { agent: AgentName, reason: String },
    #[error("{answered} council members answered in time; {quorum} are required")]
    NoQuorum { answered: usize, quorum: usize },
    #[error("this message is not on the work list of `{0}`; it was already answered or never sent")]
    NotOnWorkList(AgentName),
    #[error("the agent runtime is stopped")]
    Stopped,
}
