//! Agents on queues: an agent in its harness, the runtime that has many of them,
//! and the patterns in which they work together.
//!
//! Owns the way of a message from an agent's queue into the agent and back, the
//! life of agents and teams, and what is kept of them. It decides nothing that
//! `domain::dispatch` decides, and carries nothing that `bus` carries. What is
//! kept is in memory unless something else, such as [`Stored`], is given to the
//! [`Builder`].
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use ostler_bus::{Envelope, MemoryBus};
//! use ostler_runtime::queue::{AgentRuntime, Echo, Spec};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let bus = Arc::new(MemoryBus::default());
//! let spec = Spec::named("echo").unwrap();
//! let echo = spec.name.clone();
//! let runtime = AgentRuntime::builder(bus).agent(spec, Echo).start().await.unwrap();
//!
//! let code = runtime.new_code().await.unwrap();
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
mod runtime;
mod spec;
mod staff;
mod stored;
mod teams;
mod worklist;

pub use agent::{Agent, AgentError, AgentFn, Reply, agent_fn};
pub use ai::{ANSWER, Ai, NOTICE};
pub use codes::{CodeSource, MemoryCodes};
pub use context::AgentContext;
pub use delegations::{Delegations, MemoryDelegations, SlaDue, Work};
pub use echo::Echo;
pub use error::{QueueError, Result};
pub use human::Human;
pub use page::{LONGEST_PAGE, Page};
pub use patterns::{Council, Opinions};
pub use plans::{Answered, MemoryPlans, PlanKey, Plans};
pub use registry::{AgentRecord, Coverage, MemoryRegistry, Placement, Presence, Registry};
pub use runtime::{
    AgentRuntime, AgentStatus, Assignment, Builder, Condition, Hosting, RuntimeOptions, Status,
    TeamSpec,
};
pub use spec::{Spec, Stay, TeamWork};
pub use staff::Staff;
pub use stored::Stored;
pub use teams::{MemoryTeams, TeamChange, Teams};
pub use worklist::{MemoryWorkList, WorkList};
