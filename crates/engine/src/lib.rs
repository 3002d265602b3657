//! The turn engine: everything that thinks is the same machine.
//!
//! [`turn`] is a state machine without I/O, [`driver`] performs what it asks for
//! with a [`model::Model`] and [`tool::Tool`]s, and [`gate`] is the only way to a
//! tool. The engine stores nothing and knows no database and no network; whoever
//! runs a turn stores what it asks to be stored. [`secret`] reads the keys that
//! models and tools need, since both are built on this crate. [`subagent`] has
//! the agents that work inside another agent's turn, and [`ask`] the tools by
//! which an agent asks a person.

pub mod ask;
pub mod context;
pub mod driver;
pub mod gate;
pub mod history;
pub mod model;
pub mod outcome;
pub mod secret;
pub mod subagent;
pub mod tokens;
pub mod tool;
pub mod turn;
