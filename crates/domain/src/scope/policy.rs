//! Allow and deny lists of the platform, an org or an agent.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::removal::{PolicyLayer, Removal};
use crate::tool::{ToolName, ToolSpec};

/// Two lists of tools. An empty allow list allows all; deny beats allow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolPolicy {
    pub allow: BTreeSet<ToolName>,
    pub deny: BTreeSet<ToolName>,
}

impl ToolPolicy {
    /// Returns why this policy removes a tool, if it does.
    pub fn removal(&self, tool: &ToolSpec, policy_layer: PolicyLayer) -> Option<Removal> {
        if self.deny.contains(&tool.name) {
            Some(Removal::Denied { policy_layer })
        } else if !self.allow.is_empty() && !self.allow.contains(&tool.name) {
            Some(Removal::NotAllowed { policy_layer })
        } else {
            None
        }
    }
}
