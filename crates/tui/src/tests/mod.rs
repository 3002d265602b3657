//! Snapshots and campaigns over recorded events.

mod app;
mod exactly_once;
mod recordings;
mod snapshots;
