//! The built-in tools, called as a turn calls them: through the gate.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod bookings;
mod catalogue;
mod contacts;
mod customers;
mod fixture;
mod records;
mod refunds;
mod ssrf;
mod test_server;
mod unsplash;
mod web;
