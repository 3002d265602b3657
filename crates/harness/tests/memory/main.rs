//! Observational memory of threads, driven through its public interface.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod events;
mod example;
mod failures;
mod generated;
mod kill;
mod long_thread;
mod races;
mod restart;
mod support;
mod trust;
mod windows;
