//! Answers of humans.

use ostler_bus::Envelope;
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;

use super::AgentRuntime;
use crate::agents::agent::AgentReply;
use crate::agents::error::{QueueError, Result};
use crate::agents::harness::{ReplyDelivery, send_reply};

impl AgentRuntime {
    /// Answers a message on a human's work list in their name. The first answer
    /// counts. If sending fails, the message stays on the list.
    pub async fn answer_work_item(
        &self,
        human: &AgentName,
        message: EnvelopeId,
        reply: AgentReply,
    ) -> Result<ReplyDelivery> {
        let (runtime, human) = (self.clone(), human.clone());
        Self::run_to_completion(async move {
            let list = runtime.worklist();
            let request = list.take(&human, message).await?;
            let request = request.ok_or_else(|| QueueError::NotOnWorkList(human.clone()))?;
            let answered = send_reply(&runtime, &human, &request, reply).await;
            if answered.is_err() {
                list.add(&human, request).await?;
            }
            answered
        })
        .await
    }

    /// Sends the answer to a message that was taken from a human's work list.
    pub(crate) async fn send_human_answer(
        &self,
        human: &AgentName,
        request: &Envelope,
        reply: AgentReply,
    ) -> Result<ReplyDelivery> {
        send_reply(self, human, request, reply).await
    }
}
