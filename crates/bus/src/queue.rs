//! The names of queues: `agent.{id}`, `team.{id}.work`, or a name of one's own.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ostler_domain::dispatch::name::{AgentName, TeamName};
use serde::{Deserialize, Serialize};

/// The longest name. AMQP allows 255 bytes, and a prefix and the class of the
/// queue are added on the broker.
pub(crate) const LONGEST: usize = 180;
/// What the names of queues for replies begin with.
const REPLY: &str = "reply.";

/// The name of a queue. It has no colon: that begins the class of a queue on
/// the broker.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct QueueName(Arc<str>);

/// The text does not name a queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not name a queue; it is 1 to 180 letters, digits, `.`, `-` and `_`")]
pub struct NotAQueueName(String);

impl QueueName {
    /// The queue of an agent: what is addressed to it.
    pub fn agent(name: &AgentName) -> Self {
        Self(format!("agent.{name}").into())
    }

    /// The queue whose work any member of a team takes.
    pub fn team_work(team: &TeamName) -> Self {
        Self(format!("team.{team}.work").into())
    }

    /// One of the queues that agents share who have none of their own. Its name
    /// says how many there are, so that two divisions of the agents never mix.
    pub fn hosted(number: u16, of: u16) -> Self {
        Self(format!("hosted.{of}.{number}").into())
    }

    /// The door at which those are woken who answer a part of all conversations.
    pub fn inbound(shard: u16) -> Self {
        Self(format!("inbound.{shard}").into())
    }

    /// The queue for the replies to one bus.
    pub(crate) fn replies(bus: u64) -> Self {
        Self(format!("{REPLY}{bus:016x}").into())
    }

    /// Whether it is for replies only.
    pub(crate) fn is_for_replies(&self) -> bool {
        self.0.starts_with(REPLY)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Arc<str>> for QueueName {
    type Error = NotAQueueName;

    fn try_from(text: Arc<str>) -> Result<Self, NotAQueueName> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=LONGEST).contains(&text.len()) && text.bytes().all(known) {
            Ok(Self(text))
        } else {
            Err(NotAQueueName(text.chars().take(LONGEST).collect()))
        }
    }
}

impl FromStr for QueueName {
    type Err = NotAQueueName;

    fn from_str(text: &str) -> Result<Self, NotAQueueName> {
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

    /// X01: the name of an agent's queue follows from the agent's.
    #[test]
    fn x01_an_agents_queue_is_named_after_it() {
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
