//! Agents from their records: for each type, what makes one.

use std::collections::HashMap;
use std::sync::Arc;

use super::agent::{Agent, AnyAgent};
use super::echo::Echo;
use super::error::{QueueError, Result};
use super::human::Human;
use super::registry::AgentRecord;

type Factory = Box<dyn Fn(&AgentRecord) -> Result<Arc<dyn AnyAgent>, String> + Send + Sync>;

/// What makes agents, by their type. `echo` and `human` are known from the
/// beginning.
pub(super) struct Factories(HashMap<String, Factory>);

impl Default for Factories {
    fn default() -> Self {
        let mut factories = Self(HashMap::new());
        factories.add(Echo::TYPE, |_| Ok(Echo));
        factories.add(Human::TYPE, |_| Ok(Human));
        factories
    }
}

impl Factories {
    pub(super) fn add<A: Agent>(
        &mut self,
        agent_type: impl Into<String>,
        make: impl Fn(&AgentRecord) -> Result<A, String> + Send + Sync + 'static,
    ) {
        let make = move |record: &AgentRecord| {
            make(record).map(|agent| Arc::new(agent) as Arc<dyn AnyAgent>)
        };
        self.0.insert(agent_type.into(), Box::new(make));
    }

    pub(super) fn check(&self, agent_type: &str) -> Result<()> {
        self.of(agent_type).map(drop)
    }

    fn of(&self, agent_type: &str) -> Result<&Factory> {
        let factory = self.0.get(agent_type);
        factory.ok_or_else(|| QueueError::UnknownType(agent_type.to_owned()))
    }

    pub(super) fn make(&self, record: &AgentRecord) -> Result<Arc<dyn AnyAgent>> {
        let make = self.of(&record.agent_type)?;
        make(record).map_err(|reason| QueueError::Config { agent: record.name.clone(), reason })
    }
}
