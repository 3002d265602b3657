//! The same question to several agents at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_bus::{Envelope, next_id};
use ostler_domain::queue_agent::name::AgentName;

use crate::agents::error::{QueueError, Result};
use crate::agents::runtime::AgentRuntime;

/// Options of a council.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CouncilOptions {
    /// Minimum number of answers.
    pub quorum: usize,
    pub timeout: Duration,
}

/// The answers of a council.
#[derive(Debug)]
pub struct CouncilAnswers {
    /// In the order of the question.
    pub answers: Vec<(AgentName, Arc<Envelope>)>,
    /// Members without an answer, and why.
    pub missing: Vec<(AgentName, QueueError)>,
}

impl AgentRuntime {
    /// Asks several agents the same question and waits until all have answered
    /// or the timeout has passed. Fails with [`QueueError::NoQuorum`] if there
    /// are fewer answers than the quorum.
    pub async fn council(
        &self,
        members: &[AgentName],
        envelope: &Envelope,
        council: CouncilOptions,
    ) -> Result<CouncilAnswers> {
        let correlation: Arc<str> = envelope.message.id.to_string().into();
        let asking = members.iter().map(|member| {
            let mut copy = envelope.clone();
            // Each copy needs its own id; the correlation id connects them.
            copy.message.correlation_id.get_or_insert_with(|| Arc::clone(&correlation));
            copy.message.id = next_id();
            self.ask(member, copy, council.timeout)
        });
        let answered = join_all(asking).await;
        let mut opinions = CouncilAnswers { answers: Vec::new(), missing: Vec::new() };
        for (member, answer) in members.iter().cloned().zip(answered) {
            match answer {
                Ok(answer) => opinions.answers.push((member, answer)),
                Err(error) => opinions.missing.push((member, error)),
            }
        }
        let (answered, quorum) = (opinions.answers.len(), council.quorum);
        if answered < quorum {
            return Err(QueueError::NoQuorum { answered, quorum });
        }
        Ok(opinions)
    }
}
