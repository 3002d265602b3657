//! What agents are writing right now. It is shown and never kept: the message
//! that is committed in the end takes its place, or nothing does.

use ostler_domain::id::{AgentId, ConversationId, OrgId, RunId, SessionId};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

/// How many pieces a slow reader may be behind before it misses some.
const BEHIND: usize = 1024;

/// A piece of what an agent is writing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// The tenant.
    pub org: OrgId,
    /// The conversation: it is there before its first session is stored.
    pub conversation: ConversationId,
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The agent.
    pub agent: AgentId,
    /// How many drafts of this run came before.
    pub attempt: u32,
    /// What it is.
    #[serde(flatten)]
    pub piece: Piece,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "delta", rename_all = "snake_case")]
pub enum Piece {
    /// Words.
    Text {
        /// How many bytes of the draft came before.
        offset: usize,
        /// The words.
        text: String,
    },
    /// What came before is void.
    DraftDiscarded,
    /// A tool is being called.
    Calling {
        /// Which one.
        tool: String,
    },
    /// The run is over; its messages are kept.
    Over,
}

/// Where pieces are handed on, inside one process.
#[derive(Debug, Clone)]
pub struct Deltas(broadcast::Sender<Delta>);

impl Default for Deltas {
    fn default() -> Self {
        Self(broadcast::channel(BEHIND).0)
    }
}

impl Deltas {
    /// Follows what is written from now on.
    pub fn follow(&self) -> broadcast::Receiver<Delta> {
        self.0.subscribe()
    }

    /// Whether anybody follows.
    pub fn is_followed(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn send(&self, delta: Delta) {
        // Nobody need be listening.
        let _ = self.0.send(delta);
    }
}
