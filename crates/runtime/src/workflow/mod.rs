//! Runs workflows: durable graphs of steps. A step is a turn of an agent, a tool
//! call, a question to a person, an event or a text.
//!
//! `domain::workflow` decides which step starts, is skipped, repeated or undone;
//! `store::workflows` stores; this module runs. A workflow keeps the definition
//! it was started with. Outputs are stored apart from its progress, so that each
//! commit stays small.
//!
//! - A [`WorkflowRunner`] claims a workflow by a lease and commits each result,
//!   with the state after it, before the steps that depend on it start. If its
//!   process dies, another continues from the last commit.
//! - A step that waits for a person or an event holds no process: its turn is
//!   stored and the lease is released.
//! - [`schedule`] starts workflows at the due times of schedules.
//! - Answers need no lease. They are rows, counted on the workflow as signals;
//!   releasing the lease names the count already seen, so that no answer is
//!   missed.
//! - Untrusted content makes all later steps untrusted.
//! - Templates and conditions are minijinja. They are checked before a workflow
//!   starts, and see only the results of steps that ended before.
//!
//! Nothing here calls a tool or a model directly: every turn, even that of a
//! single call, goes through the engine's driver and its gate.

mod check;
mod checkpoint;
mod child;
pub(crate) mod control;
mod drive;
mod instance;
mod job;
mod perform;
mod progress_events;
pub(crate) mod question;
mod runner;
pub mod schedule;
mod single_call;
mod step_commit;
mod step_host;
mod template;
mod tools;
mod turn;
mod turn_result;
mod values;
pub mod view;

pub use check::{ExpressionError, check_expressions};
pub use question::{OpenQuestion, QuestionBody};
pub use runner::WorkflowRunner;
pub(crate) use single_call::SingleCallModels;
