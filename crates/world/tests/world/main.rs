//! World files: what is accepted, what is refused and where, plans, and the round trip
//! through an export.

mod errors;
mod plan;
mod round_trip;
mod support;
