//! The interactive harness: the session object behind the user interface of an agent.
//!
//! It holds modes, threads, permissions, subagents, tasks and state, runs turns on the
//! engine, and reports everything as one stream of events.

mod clock;
mod config;
mod error;
mod event;
mod harness;
mod heartbeat;
mod message;
mod mode;
mod models;
mod permissions;
mod request;
mod session;
mod state;
mod subagent;
mod task;
mod thread;
mod tools;
mod usage;

pub use config::{HarnessBuilder, HarnessConfig, ScopeFilter};
pub use error::{ConfigError, HarnessError};
pub use event::{
    AskEvent, EventDetails, EventKind, HarnessEvent, MessageEvent, SessionEvent, SubagentEvent,
    Subscription, ToolEvent, TurnLifeEvent, WorkspaceEvent, WorkspaceStatus,
};
pub use harness::{Harness, HarnessSession, MessageInput, ModelScope, NoState, open_storage};
pub use heartbeat::HeartbeatHandler;
pub use message::{HarnessMessage, HarnessMessageContent, MessageOrigin, MessageRole};
pub use mode::{HarnessAgent, HarnessMode};
pub use models::{AvailableModel, ModelAuthChecker, ModelAuthStatus, ModelUseCountProvider};
pub use ostler_domain::gate::permission::{PermissionPolicy, PermissionRules, SessionGrants};
pub use ostler_domain::tool::ToolCategory;
pub use ostler_engine::turn::{EndReason, SubagentMeta, TurnEnd, parse_subagent_meta};
pub use ostler_store::Store;
pub use request::HarnessRequestContext;
pub use session::{ApprovalResponse, OpenAsk, PlanResponse, TurnOutcome};
pub use state::HarnessStateSchema;
pub use subagent::HarnessSubagent;
pub use task::{TaskItem, TaskStatistics, TaskStatus, task_statistics};
pub use thread::{HarnessThread, ThreadMetadata};
pub use tools::{ask_user_tool, submit_plan_tool, task_check_tool, task_write_tool};
pub use usage::TokenUsage;
