//! The end of a workflow that a step of another one has started.

use serde::{Deserialize, Serialize};

use crate::tool::Trust;

/// The end of a workflow, for the step that has started it and waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The result, if it is done.
    pub result: Option<String>,
    /// Why it has no result.
    pub reason: Option<String>,
    pub trust: Trust,
    /// In credits, with the workflows that its own steps have started.
    pub spent: u64,
}

impl ChildEnd {
    /// Returns the end of a workflow without a result.
    pub const fn failed(reason: String, trust: Trust, spent: u64) -> Self {
        Self { result: None, reason: Some(reason), trust, spent }
    }
}
