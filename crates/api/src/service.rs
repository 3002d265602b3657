//! The state of the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Response to `GET /healthz` and `GET /readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceStatus {
    /// `ok` or `ready`.
    pub status: String,
}
