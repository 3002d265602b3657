//! Requests that need approval.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, now};
use ostler_domain::queue_agent::authority::{AuthorityClaim, AuthorityTier, ClaimedActions};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::plan::PlanAnswer;

use crate::agents::agent::AgentReply;
use crate::agents::coordination::{CoordinationMessage, PlanApprovalRequest, PlanApprovalResponse};
use crate::agents::error::Result;
use crate::agents::runtime::AgentRuntime;

impl AgentRuntime {
    /// Asks an agent to do something that `approver` has to approve first. The
    /// reply is the agent's, or a
    /// [`PlanRejected`](crate::agents::coordination::PlanRejected).
    pub async fn ask_with_approval(
        &self,
        agent: &AgentName,
        approver: &AgentName,
        envelope: Envelope,
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        self.ask(agent, require_approval(envelope, agent, approver), timeout).await
    }
}

/// Returns the message with a claim that makes `agent` ask `approver` before it acts on it.
pub fn require_approval(envelope: Envelope, agent: &AgentName, approver: &AgentName) -> Envelope {
    let kind = envelope.message.kind.as_str().to_owned();
    let claim = AuthorityClaim {
        granted_by: approver.clone(),
        granted_to: agent.clone(),
        tier: AuthorityTier::AskMeFirst,
        actions: ClaimedActions::Only([kind].into()),
        granted_at: now(),
        expires_at: None,
    };
    let claims = envelope.claims.iter().cloned().chain([claim]).collect();
    Envelope { claims, ..envelope }
}

impl PlanApprovalRequest {
    /// Returns the answer to this request as a reply.
    pub fn answered(self, decision: PlanAnswer) -> AgentReply {
        PlanApprovalResponse { key: self.key, decision }.reply()
    }
}
