//! Agents on queues: an agent in its harness, the runtime that runs many of them,
//! and the patterns in which they cooperate.
//!
//! Owns the path of a message from an agent's queue to the agent and back, the
//! life of agents and teams, and their records. The rules are in
//! `domain::queue_agent`, transport is in `bus`. A [`QueueAgent`] handles
//! messages; its [`AgentSpec`] sets its name, capabilities and guards. Records
//! are in memory unless the [`AgentRuntimeBuilder`] gets others, such as
//! [`StoredRecords`]; they are behind traits with atomic operations, so that
//! several processes need no locks of their own.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use ostler_bus::{Envelope, MemoryBus};
//! use ostler_runtime::agents::{AgentRuntime, EchoAgent, AgentSpec};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let bus = Arc::new(MemoryBus::default());
//! let spec = AgentSpec::named("echo").unwrap();
//! let echo = spec.name.clone();
//! let runtime = AgentRuntime::builder(bus).agent(spec, EchoAgent).start().await.unwrap();
//!
//! let code = runtime.new_reference_code().await.unwrap();
//! let hello = Envelope::new("say", serde_json::json!({"text": "hello"}), code);
//! let reply = runtime.ask(&echo, hello, Duration::from_secs(5)).await.unwrap();
//! assert_eq!(reply.message.payload["text"], "hello");
//! assert_eq!(reply.context.from_agent, Some(echo));
//! runtime.shutdown().await.unwrap();
//! # });
//! ```

mod agent;
mod ai;
mod codes;
mod context;
pub mod coordination;
mod delegations;
mod echo;
mod error;
mod factory;
mod harness;
mod human;
mod page;
mod patterns;
mod plans;
mod registry;
mod relay;
mod runtime;
mod runtimes;
mod spec;
pub(crate) mod stored;
mod teams;
mod worklist;

pub use agent::{AgentError, AgentFn, AgentReply, QueueAgent, agent_fn};
pub use ai::{ANSWER_KIND, AiAgent, NOTICE_KIND};
pub use codes::{CodeSource, MemoryCodes};
pub use context::AgentContext;
pub use delegations::{DelegatedWork, Delegations, MemoryDelegations, SlaDue};
pub use echo::EchoAgent;
pub use error::{QueueError, Result};
pub use harness::ReplyDelivery;
pub use human::HumanAgent;
pub use page::{MAX_PAGE_SIZE, Page};
pub use patterns::{CouncilAnswers, CouncilOptions, require_approval};
pub use plans::{MemoryPlans, PlanKey, Plans, ReceivedPlanAnswer, WaitingPlan};
pub use registry::{
    AgentPresence, AgentRecord, MemoryRegistry, Placement, Registry, SkillCoverage,
};
pub use runtime::{
    AgentHealth, AgentRuntime, AgentRuntimeBuilder, HostingOptions, QueueAgentStatus, QueueService,
    QueueStatus, RuntimeOptions, RuntimeStatus, TaskAssignment, TeamSpec,
};
pub use runtimes::AgentRuntimes;
pub use spec::{AgentSpec, RecordLifetime, TeamWork};
pub use stored::StoredRecords;
pub use teams::{MemoryTeams, TeamChange, Teams};
pub use worklist::{MemoryWorkList, WorkList};
