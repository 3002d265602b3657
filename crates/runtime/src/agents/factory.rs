//! Factories: create agents from their records, by agent type.

use std::collections::HashMap;
use std::sync::Arc;

use super::agent::{DynAgent, QueueAgent};
use super::echo::EchoAgent;
use super::error::{QueueError, Result};
use super::human::HumanAgent;
use super::registry::AgentRecord;

type Factory = Box<dyn Fn(&AgentRecord) -> Result<Arc<dyn DynAgent>, String> + Send + Sync>;

/// The factories by agent type. `echo` and `human` are built in.
pub(super) struct Factories(HashMap<String, Factory>);

impl Default for Factories {
    fn default() -> Self {
        let mut factories = Self(HashMap::new());
        factories.add(EchoAgent::TYPE, |_| Ok(EchoAgent));
        factories.add(HumanAgent::TYPE, |_| Ok(HumanAgent));
        factories
    }
}

impl Factories {
    pub(super) fn add<A: QueueAgent>(
        &mut self,
        agent_type: impl Into<String>,
        make: impl Fn(&AgentRecord) -> Result<A, String> + Send + Sync + 'static,
    ) {
        let make = move |record: &AgentRecord| {
            make(record).map(|agent| Arc::new(agent) as Arc<dyn DynAgent>)
        };
        self.0.insert(agent_type.into(), Box::new(make));
    }

    pub(super) fn check(&self, agent_type: &str) -> Result<()> {
        self.of(agent_type).map(drop)
    }

    fn of(&self, agent_type: &str) -> Result<&Factory> {
        let factory = self.0.get(agent_type);
        factory.ok_or_else(|| QueueError::UnknownAgentType(agent_type.to_owned()))
    }

    pub(super) fn make(&self, record: &AgentRecord) -> Result<Arc<dyn DynAgent>> {
        let make = self.of(&record.agent_type)?;
        make(record)
            .map_err(|reason| QueueError::InvalidRecord { agent: record.name.clone(), reason })
    }
}
