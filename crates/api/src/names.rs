//! The names of those who act in an org, for screens that have their ids.

use ostler_domain::id::{AgentId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of agents and people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActorNames {
    pub agents: Vec<NamedAgent>,
    /// People and API keys of the org; for people of its parent also those of the parent. Keys
    /// have the id under which their work is stored.
    pub people: Vec<NamedPerson>,
}

/// An agent and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedAgent {
    pub id: AgentId,
    pub name: String,
}

/// A person or key, and the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedPerson {
    pub id: UserId,
    pub name: String,
}
