//! Queue names: `agent.{id}`, `team.{id}.work`, or any other valid name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ostler_domain::queue_agent::name::{AgentName, TeamName};
use serde::{Deserialize, Serialize};

/// The maximum length of a name. AMQP allows 255 bytes, and on the broker a
/// prefix and the priority class are added.
pub(crate) const MAX_NAME_LEN: usize = 180;
const REPLY_PREFIX: &str = "reply.";

/// The name of a queue. It contains no colon, which separates the priority
/// class on the broker.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct QueueName(Arc<str>);

/// The text is not a valid queue name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid queue name; use 1 to 180 letters, digits, `.`, `-` and `_`")]
pub struct InvalidQueueName(String);

impl QueueName {
    /// Returns the queue of an agent.
    pub fn agent(name: &AgentName) -> Self {
        Self(format!("agent.{name}").into())
    }

    /// Returns the work queue shared by the members of a team.
    pub fn team_work(team: &TeamName) -> Self {
        Self(format!("team.{team}.work").into())
    }

    /// Returns one of the queues shared by hosted agents. The name includes the
    /// number of queues, so that a change of that number never mixes old and
    /// new shards.
    pub fn hosted(number: u16, of: u16) -> Self {
        Self(format!("hosted.{of}.{number}").into())
    }

    /// Returns the doorbell queue that wakes the workers of one shard of
    /// conversations.
    pub fn inbound(shard: u16) -> Self {
        Self(format!("inbound.{shard}").into())
    }

    /// Returns the reply queue of one bus.
    pub(crate) fn replies(bus: u64) -> Self {
        Self(format!("{REPLY_PREFIX}{bus:016x}").into())
    }

    /// Returns whether this is a reply queue.
    pub(crate) fn is_reply_queue(&self) -> bool {
        self.0.starts_with(REPLY_PREFIX)
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Arc<str>> for QueueName {
    type Error = InvalidQueueName;

    fn try_from(text: Arc<str>) -> Result<Self, InvalidQueueName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=MAX_NAME_LEN).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text))
        } else {
            Err(InvalidQueueName(text.chars().take(MAX_NAME_LEN).collect()))
        }
    }
}

impl FromStr for QueueName {
    type Err = InvalidQueueName;

    fn from_str(text: &str) -> Result<Self, InvalidQueueName> {
        Arc::<str>::from(text).try_into()
    }
}

impl From<QueueName> for Arc<str> {
    fn from(name: QueueName) -> Self {
        name.0
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::QueueName;

    /// X01: an agent's queue is named after the agent.
    #[test]
    fn x01_an_agents_queue_is_named_after_the_agent() {
        assert_eq!(QueueName::agent(&"echo".parse().unwrap()).as_str(), "agent.echo");
        assert_eq!(QueueName::team_work(&"crew".parse().unwrap()).as_str(), "team.crew.work");
    }

    #[test]
    fn a_name_is_safe_on_a_broker() {
        let long = "x".repeat(181);
        let table = [
            ("agent.echo", true),
            ("a-b_c.D9", true),
            ("", false),
            ("a:low", false),
            (&long, false),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse::<QueueName>().is_ok(), expected, "{text}");
        }
    }
}
