//! Customers' conversations: a message is received once, answered by an agent in its
//! harness, and committed once.
//!
//! [`receive`] turns what a channel delivers into inbox entries. A [`Worker`] claims a
//! conversation by a lease and answers its entries in order; `pipeline` runs the `steps`
//! for each input. Entries that need no answer are handled by `decision` and
//! `housekeeping`. A question to a model besides the answer (a `summary`, the answer to an
//! interview question) is a `side_turn`.
//!
//! A run is one transaction. Before a tool has an effect outside, the run is stored as a
//! `checkpoint`, and the next attempt continues there. The lease fences the commit; a
//! person who takes over meanwhile keeps the conversation, and the run's replies are not
//! sent.

mod checkpoint;
mod claims;
mod decision;
mod host;
mod housekeeping;
mod informed;
mod input;
mod media;
mod pipeline;
pub mod receive;
mod refusals;
mod run;
mod run_context;
mod sender_proof;
mod side_turn;
mod steps;
mod summary;
mod texts;
mod thread;
mod trace;
mod worker;

pub(crate) use steps::record::{RUN_RECORD_VERSION, next_due};
pub(crate) use steps::reply::{run as reply_route, team_message};
pub use worker::Worker;
pub(crate) use worker::run_of;
