//! Scenarios across crates, and tests of the rules of this workspace.
//!
//! This package has no code of its own: see `house/`, `services/`, `outage/` and
//! `conversations/`.
