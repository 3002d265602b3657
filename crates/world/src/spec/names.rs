//! The names and ids of what other resources refer to.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use ostler_domain::id::{AgentId, BindingId, OrgId};

/// Names and ids, translated in both directions. Agents and channels are those of one
/// org.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Every org; shared, because there may be many.
    pub orgs: Arc<NameMap<OrgId>>,
    /// The agents of the org.
    pub agents: NameMap<AgentId>,
    /// The channels of the org.
    pub channels: NameMap<BindingId>,
}

/// Names and ids of one kind.
#[derive(Debug, Clone)]
pub struct NameMap<I> {
    by_name: HashMap<String, I>,
    by_id: HashMap<I, String>,
}

impl<I> Default for NameMap<I> {
    fn default() -> Self {
        Self { by_name: HashMap::new(), by_id: HashMap::new() }
    }
}

impl<I: Copy + Eq + Hash + ToString> NameMap<I> {
    /// Adds a name and its id.
    pub fn insert(&mut self, name: &str, id: I) {
        self.by_name.insert(name.to_owned(), id);
        self.by_id.insert(id, name.to_owned());
    }

    /// Returns the id of a name.
    pub fn id(&self, name: &str) -> Option<I> {
        self.by_name.get(name).copied()
    }

    /// Returns the name of an id; the id itself if nothing has it.
    pub fn name(&self, id: I) -> String {
        self.by_id.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}

/// A reference to a resource that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} `{name}`")]
pub struct UnknownName {
    pub kind: &'static str,
    pub name: String,
}

impl<I: Copy + Eq + Hash + ToString> NameMap<I> {
    /// Returns the id of a name, or an error that names the kind.
    pub fn find(&self, kind: &'static str, name: &str) -> Result<I, UnknownName> {
        self.id(name).ok_or_else(|| UnknownName { kind, name: name.to_owned() })
    }
}
