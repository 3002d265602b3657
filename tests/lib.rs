//! Scenarios across crates, and the tests that keep the house in order.
//!
//! This package has no code of its own: see `house/`, `services/` and `outage/`.
