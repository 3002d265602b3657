//! The HTTP API: the web chat, webhooks, events, and what operators do.
//!
//! Owns the wire: who asks, how much they may send, how long it may take, and
//! what an answer looks like. It decides nothing: what comes in goes to the
//! runtime's reception, what operators want to its operations, and what is read
//! comes from the store. No log has a query, a header or a body in it: event
//! streams carry visitors' tokens in theirs.
//!
//! | module | what it owns |
//! |---|---|
//! | `routes` | all routes, on one screen |
//! | [`server`] | what it is made of, and its life |
//! | `caller` | API keys |
//! | `once` | requests that are repeated with the same `Idempotency-Key` |
//! | `refused` | every error, as a problem |
//! | `tail` | the end of each org's event log, read once for all who follow it |
//! | `stream` | server-sent events: bounded, with heartbeats, and an end |
//! | `chat`, `webhooks`, `events`, `orgs`, `health` | the routes |

mod body;
mod caller;
mod chat;
mod events;
mod health;
mod once;
mod orgs;
mod refused;
mod routes;
pub mod server;
mod stream;
mod tail;
mod webhooks;

pub use server::{Parts, Server};
