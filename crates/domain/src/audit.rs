//! The actors of the audit log.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, KeyId, UserId};

/// The actor of an audited action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditActor {
    /// A user who is logged in.
    User(UserId),
    /// A client with an API key.
    Key(KeyId),
    /// The command line on the machine itself.
    Terminal,
    Agent(AgentId),
    /// The runtime.
    System,
}
