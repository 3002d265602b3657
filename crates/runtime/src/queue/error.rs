//! What can go wrong with agents on queues.

use ostler_bus::BusError;
use ostler_domain::dispatch::choice::NobodyAble;
use ostler_domain::dispatch::delegation::DelegationRefused;
use ostler_domain::dispatch::life::TeamRefused;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::dispatch::plan::PlanRefused;

/// The result of an operation on agents, teams and their work.
pub type Result<T, E = QueueError> = std::result::Result<T, E>;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The bus did not carry it.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The records could not be read or written.
    #[error("the records of agents could not be read or written: {0}")]
    Records(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A rule of delegations says no.
    #[error(transparent)]
    Delegation(#[from] DelegationRefused),
    /// A rule of teams says no.
    #[error(transparent)]
    Team(#[from] TeamRefused),
    /// A rule of plans says no.
    #[error(transparent)]
    Plan(#[from] PlanRefused),
    /// There is no plan that waits for this answer.
    #[error("no plan of `{0}` waits for this answer; it was answered or never proposed")]
    UnknownPlan(AgentName),
    /// Nobody can do it now.
    #[error(transparent)]
    NobodyAble(#[from] NobodyAble),
    /// No agent is registered under the name.
    #[error("no agent `{0}` is registered")]
    UnknownAgent(AgentName),
    /// The agent takes no work.
    #[error("`{0}` was stopped; resume it, and replay what was sent to it meanwhile")]
    Away(AgentName),
    /// An agent of this name runs here.
    #[error("an agent `{0}` is running here already; stop it first, or choose another name")]
    AlreadyRunning(AgentName),
    /// An agent stays pinned or hosted as long as it is registered.
    #[error("`{0}` is registered as pinned or hosted, and the other is asked; remove it first")]
    Placement(AgentName),
    /// No team has the name.
    #[error("there is no team `{0}`")]
    UnknownTeam(TeamName),
    /// A team of this name is not over.
    #[error("there is a team `{0}` already; dissolve it first, or choose another name")]
    TeamExists(TeamName),
    /// Nothing makes agents of this type.
    #[error("agents of type `{0}` are not known here; register a factory for it")]
    UnknownType(String),
    /// A factory could not make an agent of its record.
    #[error("the record of `{agent}` does not make an agent: {reason}")]
    Config {
        /// Which agent.
        agent: AgentName,
        /// What is wrong with the record.
        reason: String,
    },
    /// Too few of a council answered.
    #[error("{answered} of the council answered in time, and {quorum} are needed")]
    NoQuorum {
        /// How many did.
        answered: usize,
        /// How many are needed.
        quorum: usize,
    },
    /// The message does not wait for this person.
    #[error("this message is not on the work list of `{0}`; it was answered or never sent")]
    NotOnTheList(AgentName),
    /// The runtime is stopping or was stopped.
    #[error("the agents' runtime is stopped")]
    Stopped,
}
