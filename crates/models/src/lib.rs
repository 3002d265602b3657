//! Models: what answers a turn.
//!
//! It owns how models are reached and what they are told; it decides nothing
//! about a turn and stores nothing.

pub mod mock;
pub mod scripted;
