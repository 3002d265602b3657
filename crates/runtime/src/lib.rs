//! Agents at work: on queues, in customers' conversations, and in workflows.
//!
//! Owns what happens between a message and its answer. The rules are
//! `domain`'s, the turn is `engine`'s, what is kept is `store`'s, and what
//! carries messages is `bus`'s and `channels`'.

mod base64_text;
pub mod delivery;
pub mod deltas;
pub mod explain;
mod faults;
mod ids;
pub mod inbound;
mod library;
pub mod operations;
pub mod org_view;
mod outage;
pub mod parts;
pub mod queue;
pub mod sweep;
pub mod switchboard;
pub mod talk;
pub mod team;
mod threads;
pub mod workflow;
