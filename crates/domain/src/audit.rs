//! The audit log: who did what.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, KeyId, UserId};

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A person who is logged in.
    User(UserId),
    /// A program with an API key.
    Key(KeyId),
    /// Whoever sits at the machine itself.
    Terminal,
    /// An agent.
    Agent(AgentId),
    /// The runtime itself.
    System,
}
