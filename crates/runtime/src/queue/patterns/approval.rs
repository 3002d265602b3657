//! Work that somebody has to approve before it is done.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, now};
use ostler_domain::dispatch::authority::{Actions, Claim, Tier};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::plan::PlanAnswer;

use crate::queue::agent::Reply;
use crate::queue::coordination::{Coordination, PlanApprovalRequest, PlanApprovalResponse};
use crate::queue::error::Result;
use crate::queue::runtime::AgentRuntime;

impl AgentRuntime {
    /// Asks an agent to do something that `approver` has to approve first. The
    /// reply is the agent's, or a
    /// [`PlanRejected`](crate::queue::coordination::PlanRejected).
    pub async fn ask_with_approval(
        &self,
        agent: &AgentName,
        approver: &AgentName,
        envelope: Envelope,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        let kind = envelope.message.kind.as_str().to_owned();
        let claim = Claim {
            granted_by: approver.clone(),
            granted_to: agent.clone(),
            tier: Tier::AskMeFirst,
            actions: Actions::Only([kind].into()),
            granted_at: now(),
            expires_at: None,
        };
        let claims = envelope.claims.iter().cloned().chain([claim]).collect();
        self.ask(agent, Envelope { claims, ..envelope }, patience).await
    }
}

impl PlanApprovalRequest {
    /// The answer to this request, as an agent's or a person's reply.
    pub fn answered(self, decision: PlanAnswer) -> Reply {
        PlanApprovalResponse { key: self.key, decision }.reply()
    }
}
