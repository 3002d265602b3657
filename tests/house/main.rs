//! The house in order: arrows between crates, what may be depended on, and a
//! feature list that tells the truth.

#![allow(clippy::expect_used, reason = "a test may insist, and so may what only tests use")]

mod arrows;
mod callers;
mod dependencies;
mod features;
mod metadata;
