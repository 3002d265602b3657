//! The same question to several specialists at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_bus::{Envelope, next_id};
use ostler_domain::dispatch::name::AgentName;

use crate::queue::error::{QueueError, Result};
use crate::queue::runtime::AgentRuntime;

/// How a council is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Council {
    /// How many must answer.
    pub quorum: usize,
    /// How long everybody has.
    pub patience: Duration,
}

/// What a council came to.
#[derive(Debug)]
pub struct Opinions {
    /// Who answered, and what, in the order in which they were asked.
    pub answers: Vec<(AgentName, Arc<Envelope>)>,
    /// Who did not, and why.
    pub missing: Vec<(AgentName, QueueError)>,
}

impl AgentRuntime {
    /// Asks several agents the same and waits until all have answered or the
    /// time is over. Fewer answers than the quorum are an error.
    pub async fn council(
        &self,
        members: &[AgentName],
        envelope: &Envelope,
        council: Council,
    ) -> Result<Opinions> {
        let correlation: Arc<str> = envelope.message.id.to_string().into();
        let asking = members.iter().map(|member| {
            let mut copy = envelope.clone();
            // Each copy is answered by itself; what they share is this.
            copy.message.correlation_id.get_or_insert_with(|| Arc::clone(&correlation));
            copy.message.id = next_id();
            self.ask(member, copy, council.patience)
        });
        let answered = join_all(asking).await;
        let mut opinions = Opinions { answers: Vec::new(), missing: Vec::new() };
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
