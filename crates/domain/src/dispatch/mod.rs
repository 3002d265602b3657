//! Agents on queues: who may have what done, by whom, in which order, by when,
//! and what happens if it fails.
//!
//! Owns the rules that the bus and the runtime carry out. It neither sends nor
//! starts anything.

pub mod authority;
pub mod breaker;
pub mod choice;
pub mod delegation;
pub mod failure;
pub mod life;
pub mod name;
pub mod plan;
pub mod priority;
pub mod sla;
