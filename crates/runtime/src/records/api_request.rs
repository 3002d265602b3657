//! A request over the HTTP API that a named agent answers while the caller waits.

use ostler_domain::channel::Channel;
use ostler_domain::message::MessagePart;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::message::{MessageAuthor, Purpose, ThreadMessage};

/// The name of the channel of API requests.
const CHANNEL: &str = "api";

/// Returns the channel of API requests.
pub(crate) fn api_channel() -> Channel {
    Channel::Named(CHANNEL.to_owned())
}

/// A request over the API, besides its message. The caller reads the answer from the run;
/// nothing is put into the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApiRequest {
    /// The conversation before the message, if the caller keeps it. The session then ends
    /// with the answer, unless a person has to decide something in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<TranscriptMessage>>,
    /// The most tokens of an answer, if fewer than the agent's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// An earlier message, as the caller tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptMessage {
    pub author: TranscriptAuthor,
    pub parts: Vec<MessagePart>,
}

/// The author of a [`TranscriptMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptAuthor {
    Customer,
    /// Whatever the agent has said, according to the caller.
    Agent,
}

impl ApiRequest {
    /// Returns the given history as messages of a thread.
    pub(crate) fn thread_messages(&self, at: Timestamp) -> Option<Vec<ThreadMessage>> {
        let message = |given: &TranscriptMessage| ThreadMessage {
            at,
            author: match given.author {
                TranscriptAuthor::Customer => MessageAuthor::Customer { name: None },
                // Not as an agent's: only the store knows what an agent has really said.
                TranscriptAuthor::Agent => MessageAuthor::System,
            },
            parts: given.parts.clone(),
            work: Vec::new(),
            purpose: Purpose::Talk,
            run: None,
        };
        self.history.as_ref().map(|given| given.iter().map(message).collect())
    }
}
