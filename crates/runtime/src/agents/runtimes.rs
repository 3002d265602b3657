//! The agent runtimes of all orgs in this process.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ostler_domain::id::OrgId;

use super::runtime::AgentRuntime;

/// The agent runtimes by org. Cheap to clone; all clones share the same
/// runtimes.
#[derive(Debug, Clone, Default)]
pub struct AgentRuntimes(Arc<RwLock<HashMap<OrgId, AgentRuntime>>>);

impl AgentRuntimes {
    /// Returns the runtime of an org.
    pub fn get(&self, org: OrgId) -> Option<AgentRuntime> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&org).cloned()
    }

    /// Sets the runtime of an org.
    pub fn insert(&self, org: OrgId, runtime: AgentRuntime) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(org, runtime);
    }

    /// Removes and returns all runtimes.
    pub(crate) fn drain(&self) -> Vec<AgentRuntime> {
        let mut runtimes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        runtimes.drain().map(|(_, runtime)| runtime).collect()
    }
}
