//! Tool calls of a session: their arguments and outcomes, which the messages contain.

use ostler_domain::id::{AgentId, RunId};
use ostler_engine::history::{CallId, Item};
use ostler_engine::outcome::ToolOutcome;
pub use ostler_engine::turn::GateRecord;
use serde_json::Value;

use super::message::{MessageAuthor, ThreadMessage};

/// What the messages of a session contain about a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallRecord<'m> {
    /// As the model wrote them.
    pub arguments: Option<&'m Value>,
    /// `None` if the call has not ended.
    pub outcome: Option<&'m ToolOutcome>,
}

impl<'m> CallRecord<'m> {
    /// Finds a call in the messages that an agent wrote in a run. Models may use the same id
    /// again in another run.
    pub fn find(messages: &'m [ThreadMessage], run: RunId, agent: AgentId, id: &CallId) -> Self {
        let mut found = Self::default();
        let author = MessageAuthor::Agent { id: agent };
        let written =
            |message: &&ThreadMessage| message.run == Some(run) && message.author == author;
        for item in messages.iter().filter(written).flat_map(|message| &message.work) {
            match item {
                Item::Assistant { calls, .. } => {
                    let call = calls.iter().find(|call| call.id == *id);
                    found.arguments = call.map(|call| &*call.arguments).or(found.arguments);
                }
                Item::Results { results } => {
                    let result = results.iter().find(|result| result.call == *id);
                    found.outcome = result.map(|result| &result.outcome).or(found.outcome);
                }
                Item::User { .. } => {}
            }
        }
        found
    }
}
