//! Rules for queue agents: authority, selection, delegation, priorities, deadlines
//! and failure recovery.
//!
//! Decides what the bus and the runtime carry out. Sends and starts nothing itself.

pub mod authority;
pub mod breaker;
pub mod delegation;
pub mod failure;
pub mod name;
pub mod plan;
pub mod priority;
pub mod selection;
pub mod sla;
pub mod team_lifecycle;
