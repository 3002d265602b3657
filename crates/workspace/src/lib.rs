//! A directory that agents work in: confined files, sandboxed commands, undo.
//!
//! [`workspace::Workspace`] is the whole: files below a root ([`files`]), unified diffs
//! ([`patch`]), commands ([`sandbox`]) and the saved states of earlier turns ([`undo`]).
//! [`tools`] offers it to agents, and [`context`] reads what people have written for agents.
//! It decides nothing about permissions; that is the gate's.

pub mod context;
pub mod error;
pub mod files;
pub mod patch;
mod path;
pub mod sandbox;
pub mod tools;
pub mod undo;
pub mod workspace;
