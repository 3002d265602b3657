//! The services that tools use, and connecting them.

use ostler_domain::secret::SecretRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A service that tools use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolService {
    pub service: String,
    pub connected: bool,
    /// The built-in tools that need it.
    pub tools: Vec<String>,
    /// Where its key is.
    pub secret: Option<SecretRef>,
    /// Why the key cannot be read on the server's machine.
    pub key_problem: Option<String>,
}

/// Body of `POST services/SERVICE/connect`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectServiceRequest {
    /// Where the key is; without it, that of an earlier connection or the one that is on the
    /// server's machine by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretRef>,
}

/// A service that was connected or disconnected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceConnection {
    pub service: String,
    pub connected: bool,
    pub secret: Option<SecretRef>,
    /// What keeps it from working on the server's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
