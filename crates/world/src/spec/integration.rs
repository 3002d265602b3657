//! Services that an org's tools use.

use ostler_domain::secret::SecretRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A service that the tools of an organization use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntegrationDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    /// The service, such as `payments`.
    pub service: String,
    /// Whether tools may use it.
    #[serde(default = "super::on")]
    pub connected: bool,
    /// The settings of the service.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Where its secret is: `env:NAME` or `file:PATH`, never the secret itself.
    #[serde(default)]
    pub secret: Option<SecretRef>,
}
