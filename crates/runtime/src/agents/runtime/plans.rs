//! What an answered plan leads to.

use std::sync::Arc;

use ostler_bus::Envelope;
use ostler_domain::queue_agent::plan::PlanEffect;

use super::AgentRuntime;
use crate::agents::agent::AgentReply;
use crate::agents::coordination::{CoordinationMessage, PlanRejected};
use crate::agents::error::Result;
use crate::agents::harness::send_reply;
use crate::agents::plans::PlanKey;

impl AgentRuntime {
    /// Puts the message of an approved plan back into the agent's queue, or tells its sender
    /// about the rejection.
    pub(crate) async fn carry_out_plan(
        &self,
        key: &PlanKey,
        effect: PlanEffect,
        held: Arc<Envelope>,
    ) -> Result<()> {
        let PlanEffect::Inform { requester, reason } = effect else {
            return self.send_shared(&key.agent, held).await;
        };
        let agent = key.agent.clone();
        let rejected = PlanRejected { agent: agent.clone(), reason };
        if held.context.reply_to.is_some() {
            send_reply(self, &agent, &held, rejected.reply()).await?;
        } else if let Some(requester) = requester {
            let AgentReply { kind, payload } = rejected.reply();
            let mut note = held.reply(kind, payload);
            note.context.from_agent = Some(agent);
            self.send(&requester, note).await?;
        }
        self.plans().forget(key).await
    }
}
