//! House rules: arrows between crates and rooms, allowed dependencies, plain words
//! and a feature list that is true.

#![allow(clippy::expect_used, reason = "a test may insist, and so may what only tests use")]

mod architecture;
mod arrows;
mod callers;
mod dependencies;
mod features;
mod metadata;
mod rooms;
mod supply_chain;
mod uncalled;
mod words;
