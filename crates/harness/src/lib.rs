//! The interactive harness: the session object behind the user interface of an agent.
//!
//! It holds modes, threads, permissions, subagents, tasks and state, runs turns on the
//! engine, and reports everything as one stream of events. What waits for a person is
//! stored: another process can continue where one was killed.
//!
//! ```
//! use std::sync::Arc;
//! use ostler_harness::{Harness, HarnessAgent, HarnessMode, NoState, open_storage};
//! # use ostler_scripted::{Script, ScriptedModel};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = Arc::new(ScriptedModel::new(Script::parse("quick", "default: Hello!")?));
//! let storage = open_storage("sqlite::memory:").await?;
//! let plan = HarnessAgent::new("planner", "You plan.");
//! let build = HarnessAgent::new("builder", "You build.");
//! let harness = Harness::<NoState>::builder("my-coding-agent", storage)
//!     .model(model)
//!     .mode(HarnessMode::new("plan", "Plan", plan).default_mode())
//!     .mode(HarnessMode::new("build", "Build", build))
//!     .build()?;
//! let mut events = harness.subscribe();
//! harness.init().await?;
//! harness.select_or_create_thread().await?;
//! harness.send_message("Hello!").await?;
//! while let Some(event) = events.try_next() {
//!     println!("{}", serde_json::to_string(&*event)?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `harness` | the object and its operations |
//! | `session` | the open thread, running turns, answers, recovery |
//! | `event` | events, and how readers follow them |
//! | `config` | the configuration and its builder |
//! | `context` | what the workspace and messages add to the prompt |
//! | `mode`, `subagent`, `models`, `state`, `task`, `thread`, `message` | the values of these names |
//! | `shipped` | modes that are shipped, with their instructions as files |
//! | `tools` | the built-in tools of every agent |
//! | `request` | what a tool finds in its context |

mod always;
mod clock;
mod config;
mod context;
mod error;
mod event;
mod harness;
mod heartbeat;
pub mod memory;
mod message;
mod mode;
mod models;
mod permission_files;
mod permissions;
mod request;
mod session;
mod shipped;
mod state;
mod subagent;
mod task;
mod thread;
mod thread_calls;
mod tools;
mod usage;
mod workspace;

pub use always::{AlwaysAllow, RuleProposal};
pub use config::{Budget, HarnessBuilder, HarnessConfig, HarnessOMConfig, ScopeFilter};
pub use context::{ContextBudget, ContextCommand, ContextFile, ContextReport, ContextSkill};
pub use error::{ConfigError, HarnessError};
pub use event::{
    AskEvent, ContextEvent, CurrentEvents, EventDetails, EventKind, HarnessEvent, MessageEvent,
    OmEvent, SessionEvent, SubagentEvent, Subscription, ToolEvent, TurnLifeEvent, WorkspaceEvent,
    WorkspacePhase,
};
pub use harness::{
    Harness, HarnessSession, MessageInput, ModelScope, NoState, StartedTurn, SubagentRun,
    open_storage, read_image, read_messages,
};
pub use heartbeat::HeartbeatHandler;
pub use message::{HarnessMessage, HarnessMessageContent, MessageOrigin, MessageRole};
pub use mode::{HarnessAgent, HarnessMode};
pub use models::{AvailableModel, ModelAuthChecker, ModelAuthStatus, ModelUseCountProvider};
pub use ostler_domain::gate::permission::rule::{MatchedRule, RuleScope};
pub use ostler_domain::gate::permission::{PermissionPolicy, PermissionRules, SessionGrants};
pub use ostler_domain::memory::MemorySettings;
pub use ostler_domain::money::Credits;
pub use ostler_domain::tool::ToolCategory;
pub use ostler_engine::turn::{EndReason, SubagentMeta, TurnEnd, parse_subagent_meta};
pub use ostler_store::Store;
pub use ostler_workspace::context::images::media_type as image_media_type;
pub use permission_files::{
    CategoryOf, LoadedPermissions, PROJECT_PERMISSIONS, PermissionFileError, PermissionFiles,
};
pub use request::HarnessRequestContext;
pub use session::{ApprovalResponse, OpenAsk, PlanResponse, TurnOutcome, read_events};
pub use shipped::{DEFAULT_MODE, ModeAccess, ModeDefinition, shipped_modes};
pub use state::HarnessStateSchema;
pub use subagent::HarnessSubagent;
pub use task::{TaskItem, TaskStatistics, TaskStatus, task_statistics};
pub use thread::{HarnessThread, ThreadMetadata};
pub use thread_calls::{ThreadCall, thread_calls};
pub use tools::{ask_user_tool, submit_plan_tool, task_check_tool, task_write_tool};
pub use usage::TokenUsage;
pub use workspace::WorkspaceSource;
