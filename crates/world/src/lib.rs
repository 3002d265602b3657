//! The resources of an installation as files: what a world file may contain, how it is
//! checked, what applying it would change, and how live resources are written as a file.
//!
//! Owns the definition of every resource ([`spec`]), the parser with positions ([`mod@file`]),
//! the rules that resources have to keep among each other ([`rules`]), the plan of changes
//! ([`plan`]) and the export ([`export`]). [`permissions`] is another kind of file: the
//! permission rules of a user or a project. Reads and stores nothing: its callers do.

pub mod address;
pub mod export;
pub mod file;
pub mod permissions;
pub mod plan;
pub mod resource;
pub mod rules;
pub mod schema;
pub mod spec;
mod suggestion;

pub use address::{Address, Kind};
pub use resource::{Resource, Resources};
pub use suggestion::unknown_name;
