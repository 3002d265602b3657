//! The agents of each org that this process has on a bus.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ostler_domain::id::OrgId;

use super::runtime::AgentRuntime;

/// The agents of each org on the bus. A copy is the same staff.
#[derive(Debug, Clone, Default)]
pub struct Staff(Arc<RwLock<HashMap<OrgId, AgentRuntime>>>);

impl Staff {
    /// The agents of an org, if they are on the bus already.
    pub fn of(&self, org: OrgId) -> Option<AgentRuntime> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&org).cloned()
    }

    /// These are the agents of an org from now on.
    pub fn enter(&self, org: OrgId, agents: AgentRuntime) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(org, agents);
    }

    /// Nobody is there any more; whoever was is returned.
    pub(crate) fn leave(&self) -> Vec<AgentRuntime> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.drain().map(|(_, agents)| agents).collect()
    }
}
