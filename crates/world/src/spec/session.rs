//! Example sessions for `ostler tools explain --world`; they are not applied.

use std::collections::BTreeMap;

use ostler_domain::channel::Channel;
use ostler_domain::money::Credits;
use ostler_domain::tool::{Audience, ToolName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An example of a session, for `ostler tools explain --world`. It is not applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    /// The name in commands.
    pub name: String,
    /// The channel.
    pub channel: Channel,
    /// Who is in it: `customer` (the default) or `staff`.
    #[serde(default = "customer")]
    pub audience: Audience,
    /// What it has spent.
    #[serde(default)]
    pub spent: Credits,
    /// How often tools have failed.
    #[serde(default)]
    pub failures: BTreeMap<ToolName, u32>,
    /// Whether it has read content from outside.
    #[serde(default)]
    pub untrusted: bool,
}

const fn customer() -> Audience {
    Audience::Customer
}
