//! The turn engine: the one state machine that every agent runs on.
//!
//! [`turn`] is the state machine and does no I/O. [`driver`] performs its actions
//! with a [`model::Model`] and [`tool::Tool`]s. [`gate`] is the only way to run a
//! tool. The engine knows no database and no network: the host of a turn stores its
//! state. [`secret`] reads the keys that models and tools need, [`subagent`]
//! defines the agents that work inside another agent's turn, and [`ask`] has the
//! tools with which an agent asks a person.

pub mod ask;
pub mod driver;
pub mod extensions;
pub mod gate;
pub mod history;
pub mod model;
pub mod outcome;
pub mod secret;
pub mod subagent;
pub mod tokens;
pub mod tool;
pub mod turn;
