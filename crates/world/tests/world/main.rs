//! World files: what is accepted, what is refused and where, plans, and the round trip
//! through an export.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests and their helpers may panic")]

mod errors;
mod generator;
mod permissions;
mod plan;
mod round_trip;
mod support;
