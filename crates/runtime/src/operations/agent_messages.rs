//! Messages of people to agents on queues.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{BusError, Envelope, EnvelopeKind};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::queue_agent::name::AgentName;
use serde_json::json;

use super::{OperationError, OrgOperations, QueueAgentRefused, Result};
use crate::agents::{AgentRuntime, Placement, QueueError, require_approval};

/// A message to an agent on queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgentMessage {
    /// The type of the message.
    pub kind: String,
    pub text: String,
    /// The agent that has to approve it first.
    pub approver: Option<AgentName>,
    /// How long the reply is waited for; `None` to leave the message in its queue.
    pub wait: Option<Duration>,
}

impl OrgOperations<'_> {
    /// Sends a message to an agent, and returns it with the reply that was waited for.
    /// `is_shared` says whether other processes share the bus.
    pub async fn send_to_queue_agent(
        &self,
        agents: &AgentRuntime,
        is_shared: bool,
        name: &AgentName,
        new: NewAgentMessage,
    ) -> Result<(Envelope, Option<Arc<Envelope>>)> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let NewAgentMessage { kind, text, approver, wait } = new;
        if text.trim().is_empty() {
            return Err(OperationError::Empty("the text"));
        }
        let kind: EnvelopeKind = match kind.parse() {
            Ok(kind) => kind,
            Err(invalid) => return Err(OperationError::BadResource(format!("{invalid}"))),
        };
        let record = agents.registered(name).await?;
        if record.placement == Placement::Hosted && !record.is_available(ostler_bus::now()) {
            return Err(QueueError::AgentStopped(name.clone()).into());
        }
        let code = agents.new_reference_code().await?;
        let mut message = Envelope::new(kind, json!({"text": text}), code);
        message.context.original_goal = Some(text.as_str().into());
        if let Some(approver) = &approver {
            if agents.registry().get(approver).await?.is_none() {
                return Err(QueueAgentRefused::NoApprover(approver.clone()).into());
            }
            message = require_approval(message, name, approver);
        }
        if wait.is_some() && is_shared {
            let queue = agents.queue_of(name).await?;
            let depth = agents.bus().depth(&queue).await.map_err(QueueError::from)?;
            if depth.consumers == 0 {
                return Err(QueueAgentRefused::NotServed(name.clone()).into());
            }
        }
        let data = json!({"message": message.message.id, "type": message.message.kind,
            "reference": code});
        store.append_audit(self.audit_entry("send_to_queue_agent", name, &data)).await?;
        let reply = match wait {
            Some(timeout) => match agents.ask(name, message.clone(), timeout).await {
                Err(QueueError::Bus(late @ BusError::ReplyTimeout { .. })) => {
                    return Err(QueueAgentRefused::NoReply(late.to_string()).into());
                }
                asked => Some(asked?),
            },
            None => {
                agents.send(name, message.clone()).await?;
                None
            }
        };
        Ok((message, reply))
    }
}
