//! Workflows at work: durable graphs of steps, of which each is a turn of an
//! agent, a call of a tool, a question to a person, an event or a text.
//!
//! What begins when is [`ostler_domain::workflow`]'s, what is kept is the store's.
//! A [`Runner`] takes a workflow up, performs what can be done side by side, and
//! commits each thing that comes of it before anything that follows begins. Who
//! dies leaves a workflow that another takes up where it stands. A step that
//! waits for a person or an event holds nobody: its turn is stored, and the
//! workflow is let go until somebody says something to it.
//!
//! Nothing here calls a tool or asks a model: every turn, that of a single call
//! too, goes through the engine's driver and its gate.

mod drive;
mod ended;
mod further;
mod instance;
mod job;
mod only_call;
mod perform;
pub(crate) mod question;
mod runner;
mod saved;
mod step_host;
mod tools;
mod turn;
mod values;
pub mod view;

pub use question::{Asked, OpenQuestion};
pub use runner::Runner;
