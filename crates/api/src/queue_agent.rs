//! Agents on queues: their records, teams, work, queues and dead letters.

use std::collections::BTreeSet;

use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::breaker::BreakerState;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::selection::{AgentSkill, Availability, Placement, SkillCoverage};
use ostler_domain::queue_agent::team_lifecycle::Team;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An agent on queues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueAgent {
    pub name: AgentName,
    /// `ai`, `human`, `echo`, or the type of an agent with its own process.
    pub agent_type: String,
    pub capabilities: BTreeSet<AgentSkill>,
    pub placement: Placement,
    /// The most messages that are handled at the same time.
    pub concurrency: u32,
    /// As last reported.
    pub availability: Availability,
    /// When the availability expires; `null` for hosted agents.
    pub available_until: Option<Timestamp>,
    /// Whether it takes work now.
    pub available: bool,
    /// Messages in progress or waiting, as last reported.
    pub load: u64,
}

/// An agent on queues with its teams and work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueAgentDetail {
    pub record: QueueAgent,
    pub teams: Vec<TeamName>,
    /// Messages in its queue; `null` if the server is not connected to the bus.
    pub waiting: Option<u64>,
    /// Messages on the work list of a human agent.
    pub on_its_list: usize,
    pub work: Vec<Delegation>,
}

/// A type of agent that people register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueAgentType {
    /// Replies with what it receives.
    Echo,
    /// A person: messages wait on a work list.
    Human,
}

/// Body of `POST queue-agents`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartQueueAgentRequest {
    /// An agent of the organization goes by its slug.
    pub name: AgentName,
    /// Needed if the agent is not registered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<QueueAgentType>,
    /// Added to those it has.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<AgentSkill>,
}

/// Body of `POST queue-agents/AGENT/messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentMessageRequest {
    pub text: String,
    /// The type of the message, which tells the agent what to do with it.
    #[serde(rename = "type", default = "say")]
    pub message_type: String,
    /// An agent that has to approve it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<AgentName>,
    /// How many milliseconds the reply is waited for, at most five minutes; without it, the
    /// message is left in its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

fn say() -> String {
    "say".to_owned()
}

/// A message that was sent to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentAgentMessage {
    pub message: EnvelopeId,
    pub reference: ReferenceCode,
    /// The reply as it is on the bus; `null` if it was not waited for.
    pub reply: Option<Value>,
}

/// An agent that was removed from the queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedQueueAgent {
    /// Messages of its queue that are dead letters now.
    pub dead_letters: u64,
}

/// Body of `POST queue-teams`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewQueueTeamRequest {
    pub name: TeamName,
    /// The first one leads.
    pub members: Vec<AgentName>,
    /// Registers unknown members as agents of this type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub register: Option<QueueAgentType>,
}

/// Body of `POST queue-teams/TEAM/members`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamMemberRequest {
    pub agent: AgentName,
    /// Makes it the leader; it may be a member already.
    #[serde(default)]
    pub leader: bool,
}

/// A team that was dissolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DissolvedTeam {
    pub team: Team,
    /// What waits in the queues of its members.
    pub waiting: Vec<QueueBacklog>,
}

/// Messages that wait in a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueBacklog {
    pub queue: String,
    pub waiting: u64,
}

/// Whether the messages in a queue are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueService {
    Served,
    /// Nobody takes messages, and none are waiting.
    Unserved,
    /// Messages are waiting, and nobody takes them.
    Stuck,
}

/// A queue as the bus reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusQueue {
    pub name: String,
    pub waiting: u64,
    pub consumers: u32,
    pub service: QueueService,
}

/// An agent that runs in the server's process, with its circuit breaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunningQueueAgent {
    pub name: AgentName,
    pub teams: Vec<TeamName>,
    /// Messages in progress.
    pub in_progress: u32,
    pub breaker: BreakerState,
}

/// The queues of an organization, and the health of its agents on them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusStatus {
    /// `healthy`, or `degraded` if an agent is away or its breaker is not closed.
    pub condition: String,
    pub coverage: Vec<SkillCoverage>,
    /// The agents that run in this process.
    pub agents: Vec<RunningQueueAgent>,
    /// Hosted agents in memory.
    pub awake: usize,
    /// Whether the bus is within the process and ends with it.
    pub in_process: bool,
    /// Agents that are not available.
    pub away: Vec<AgentName>,
    /// Empty if the bus is within the process.
    pub queues: Vec<BusQueue>,
    /// At most 1000 are counted.
    pub dead_letters: usize,
}

/// A message that could not be handled, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusDeadLetter {
    pub id: EnvelopeId,
    pub cause: BusDeadLetterCause,
    /// The message as it is on the bus; `null` if it cannot be read.
    pub envelope: Value,
    /// The start of a message that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Why and where a message became a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusDeadLetterCause {
    /// The queue that the message was sent to.
    pub queue: String,
    pub class: FailureClass,
    pub reason: String,
    /// How often it was delivered.
    pub attempts: u32,
    pub at: Timestamp,
}

/// Body of `POST bus-dead-letters/replay`. Without a queue all are put back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayBusRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Only this message of the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<EnvelopeId>,
}

/// What was put back into queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedLetters {
    pub replayed: usize,
}

/// A message that waits for the answer of a human agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItem {
    pub agent: AgentName,
    /// The message as it is on the bus.
    pub message: Value,
}

/// Body of `POST work-items/MESSAGE/answer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkAnswerRequest {
    pub text: String,
    /// Who answers; needed if the message is on the lists of several agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// How the answer of a human agent was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerDelivery {
    Sent,
    /// The sender wants no answer.
    NotWanted,
    /// The sender waits no longer.
    TooLate,
}

/// A message that a human agent has answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredWork {
    pub item: WorkItem,
    pub delivery: AnswerDelivery,
}

/// What an agent wants to do and asks approval for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingPlan {
    pub key: PlanKey,
    pub plan: QueuePlan,
    /// The message that the agent would act on, as it is on the bus.
    pub request: Value,
}

/// Identifies a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanKey {
    pub agent: AgentName,
    /// The message that the agent would act on.
    pub message: EnvelopeId,
}

/// Who proposes a plan, and who approves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuePlan {
    pub reference: ReferenceCode,
    pub proposed_by: AgentName,
    pub approver: AgentName,
    /// The agent that asked for the work and is told of a rejection.
    pub requester: Option<AgentName>,
}

/// Body of `POST queue-plans/MESSAGE/reject`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectPlanRequest {
    pub reason: String,
}

/// Body of `POST delegations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDelegationRequest {
    /// The agent that gives the work and learns of delays.
    pub by: AgentName,
    /// The agent that gets it.
    pub to: AgentName,
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// Work that must be finished first, by id or reference code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// Work that was given to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedDelegation {
    pub work: Delegation,
    /// Whether the agent was told; work that is blocked is sent later.
    pub sent: bool,
}

/// A delegation, what it waits for and what it blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelegationDetail {
    pub work: Delegation,
    pub waits_for: Vec<Delegation>,
    pub blocks: Vec<Delegation>,
}

/// Body of `POST delegations/DELEGATION/status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegationChange {
    pub status: DelegationStatus,
}

/// A delegation that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedDelegation {
    pub work: Delegation,
    /// Work that became ready by it.
    pub ready: Vec<Delegation>,
}

/// Which delegations are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationState {
    #[default]
    All,
    Overdue,
    /// Waits for other unfinished work.
    Blocked,
    /// Unfinished, and waits for nothing.
    Ready,
}
