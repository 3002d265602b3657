//! The answers of people.

use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::EnvelopeId;

use super::AgentRuntime;
use crate::queue::agent::Reply;
use crate::queue::error::{QueueError, Result};
use crate::queue::harness::answer;

impl AgentRuntime {
    /// Answers a message on a person's work list in the person's name. Of
    /// several answers the first counts; one that cannot be sent leaves the
    /// message on the list.
    pub async fn answer(
        &self,
        person: &AgentName,
        message: EnvelopeId,
        reply: Reply,
    ) -> Result<()> {
        let (runtime, person) = (self.clone(), person.clone());
        Self::to_its_end(async move {
            let list = runtime.worklist();
            let taken = list.take(&person, message).await?;
            let taken = taken.ok_or_else(|| QueueError::NotOnTheList(person.clone()))?;
            let answered = answer(&runtime, &person, &taken, reply).await;
            if answered.is_err() {
                list.add(&person, taken).await?;
            }
            answered
        })
        .await
    }
}
