//! Queue agents: registering, starting, stopping and removing them.
//!
//! Agents that people register are hosted: every `serve` and `worker` of the installation
//! runs them. The agents of the org are on the bus under their slugs.

use std::collections::BTreeSet;

use ostler_domain::org::permission::OrgPermission;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::selection::{AgentSkill, Availability};
use serde_json::{Value, json};

use super::{OrgOperations, QueueAgentRefused, Result};
use crate::agents::stored::registry::encode;
use crate::agents::{
    AgentRecord, AgentRuntime, AiAgent, EchoAgent, HumanAgent, MAX_PAGE_SIZE, Page, Placement,
    Registry as _,
};

/// A type of agent that people can register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAgentType {
    /// Replies with what it receives.
    Echo,
    /// A person: messages wait on a work list.
    Human,
}

impl QueueAgentType {
    const fn name(self) -> &'static str {
        match self {
            Self::Echo => EchoAgent::TYPE,
            Self::Human => HumanAgent::TYPE,
        }
    }
}

/// An agent to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQueueAgent {
    pub name: AgentName,
    /// Needed if the agent is not registered yet.
    pub agent_type: Option<QueueAgentType>,
    /// Added to those it has.
    pub capabilities: BTreeSet<AgentSkill>,
}

impl OrgOperations<'_> {
    /// Starts a hosted agent, which is registered if it is new. An agent of the org needs no
    /// type.
    pub async fn start_queue_agent(
        &self,
        agents: Option<&AgentRuntime>,
        new: NewQueueAgent,
    ) -> Result<AgentRecord> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let NewQueueAgent { name, agent_type, capabilities } = new;
        let known = self.queue_records().get(&name).await?;
        let before = known.as_ref().map_or(Value::Null, describe);
        let mut record = match (known, agent_type) {
            (Some(record), _) if record.placement == Placement::Pinned => {
                return Err(QueueAgentRefused::OwnProcess(name).into());
            }
            (Some(AgentRecord { agent_type, .. }), Some(other)) if agent_type != other.name() => {
                return Err(QueueAgentRefused::OtherType { name, agent_type }.into());
            }
            (Some(record), _) => record,
            (None, agent_type) => self.new_record(&name, agent_type).await?,
        };
        record.capabilities.extend(capabilities);
        record.availability = Availability::Available;
        let audit = self.audit_change("start_queue_agent", &name, &before, &describe(&record));
        store.audited(audit).save_queue_agent(encode(record.clone())?).await?;
        if let Some(agents) = agents {
            agents.forget_route(&name);
        }
        Ok(record)
    }

    async fn new_record(
        &self,
        name: &AgentName,
        agent_type: Option<QueueAgentType>,
    ) -> Result<AgentRecord> {
        let view = self.view().await?;
        let own = view.agents.iter().find(|one| one.agent.slug == name.as_str());
        match (own, agent_type) {
            (Some(_), Some(_)) => Err(QueueAgentRefused::OrgAgent(name.clone()).into()),
            (Some(own), None) => Ok(AiAgent::record_of(self.org, own.agent.id, name.clone())),
            (None, Some(agent_type)) => {
                Ok(AgentRecord::new(name.clone(), agent_type.name(), Placement::Hosted))
            }
            (None, None) => Err(QueueAgentRefused::NoType(name.clone()).into()),
        }
    }

    /// Stops an agent: it takes no more messages until it is started again. Messages to a
    /// stopped hosted agent become dead letters; those to an agent with its own queue wait.
    pub async fn stop_queue_agent(&self, agents: &AgentRuntime, name: &AgentName) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let record = agents.registered(name).await?;
        let audit = self.audit_entry("stop_queue_agent", name, &describe(&record));
        store.audited(audit).withdraw_queue_agent(name.clone()).await?;
        match record.placement {
            Placement::Hosted => agents.close_hosted(name).await,
            Placement::Pinned => agents.request_stop(name, "stopped by a person").await?,
        }
        Ok(())
    }

    /// Removes an agent that is in no team and has no open work. Messages in its own queue
    /// become dead letters; returns their number.
    pub async fn remove_queue_agent(&self, agents: &AgentRuntime, name: &AgentName) -> Result<u64> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let record = agents.registered(name).await?;
        self.check_removable(agents, &record).await?;
        let audit = self.audit_change("remove_queue_agent", name, &describe(&record), &Value::Null);
        store.audited(audit).delete_queue_agent(name.clone()).await?;
        agents.forget_route(name);
        if record.placement == Placement::Hosted {
            agents.close_hosted(name).await;
            return Ok(0);
        }
        let queue = ostler_bus::QueueName::agent(name);
        let waiting = agents.bus().depth(&queue).await.map_err(crate::agents::QueueError::from)?;
        let reason = "the agent was removed".to_owned();
        let why = ostler_bus::Failure { class: FailureClass::Infrastructure, reason };
        agents.bus().delete_queue(&queue, why).await.map_err(crate::agents::QueueError::from)?;
        Ok(waiting.total())
    }

    async fn check_removable(&self, agents: &AgentRuntime, record: &AgentRecord) -> Result<()> {
        let name = record.name.clone();
        if record.agent_type == AiAgent::TYPE
            && self.view().await?.agents.iter().any(|one| one.agent.slug == name.as_str())
        {
            return Err(QueueAgentRefused::OrgAgent(name).into());
        }
        if record.placement == Placement::Pinned && record.is_available(ostler_bus::now()) {
            return Err(QueueAgentRefused::Running(name).into());
        }
        if let Some(team) = agents.current_teams_of(&name).await?.into_iter().next() {
            return Err(QueueAgentRefused::InTeam { name, team }.into());
        }
        let list = agents.worklist().list(&name, Page::first(MAX_PAGE_SIZE)).await?;
        match list.len() {
            0 => Ok(()),
            count => Err(QueueAgentRefused::OpenWork { name, count }.into()),
        }
    }
}

fn describe(record: &AgentRecord) -> Value {
    json!({"type": record.agent_type, "can": record.capabilities, "placement": record.placement,
        "availability": record.availability})
}
