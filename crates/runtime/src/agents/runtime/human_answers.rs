//! Answers of humans.

use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;

use super::AgentRuntime;
use crate::agents::agent::AgentReply;
use crate::agents::error::{QueueError, Result};
use crate::agents::harness::send_reply;

impl AgentRuntime {
    /// Answers a message on a human's work list in their name. The first answer
    /// counts. If sending fails, the message stays on the list.
    pub async fn answer_work_item(
        &self,
        human: &AgentName,
        message: EnvelopeId,
        reply: AgentReply,
    ) -> Result<()> {
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
}
