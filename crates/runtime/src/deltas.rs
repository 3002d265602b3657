//! What agents are writing right now. It is shown and never kept: the message
//! that is committed in the end takes its place, or nothing does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Where pieces are handed on, inside one process, with the drafts so far: whoever
/// comes in the middle of one begins with that.
#[derive(Debug, Clone)]
pub struct Deltas {
    pieces: broadcast::Sender<Delta>,
    drafts: Arc<Mutex<HashMap<RunId, Arc<Mutex<Delta>>>>>,
}

impl Default for Deltas {
    fn default() -> Self {
        Self { pieces: broadcast::channel(BEHIND).0, drafts: Arc::default() }
    }
}

impl Deltas {
    /// Follows what is written from now on.
    pub fn follow(&self) -> broadcast::Receiver<Delta> {
        self.pieces.subscribe()
    }

    /// The drafts that agents of an org are writing, each as one piece from its
    /// beginning. Whoever follows first and looks then misses nothing; pieces that
    /// are part of a draft already come once more.
    pub fn drafts(&self, org: OrgId) -> Vec<Delta> {
        let drafts: Vec<_> = lock(&self.drafts).values().cloned().collect();
        let ours = drafts.iter().map(|draft| lock(draft).clone()).filter(|one| one.org == org);
        ours.filter(|one| !one.piece.is_empty()).collect()
    }

    /// Begins a draft, which is there until what is returned is dropped.
    pub(crate) fn begin(&self, draft: Delta) -> Writing {
        let (run, draft) = (draft.run, Arc::new(Mutex::new(draft)));
        lock(&self.drafts).insert(run, draft.clone());
        Writing { deltas: self.clone(), run, draft }
    }

    pub(crate) fn send(&self, delta: Delta) {
        // Nobody need be listening.
        let _ = self.pieces.send(delta);
    }

    /// Whether anybody follows.
    pub fn is_followed(&self) -> bool {
        self.pieces.receiver_count() > 0
    }
}

impl Piece {
    /// Nothing, at the beginning.
    pub(crate) const NOTHING: Self = Self::Text { offset: 0, text: String::new() };

    const fn is_empty(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.is_empty())
    }
}

/// A draft that is being written.
#[derive(Debug)]
pub(crate) struct Writing {
    deltas: Deltas,
    run: RunId,
    draft: Arc<Mutex<Delta>>,
}

impl Writing {
    /// Adds words to it.
    pub(crate) fn add(&self, more: &str) {
        let mut draft = lock(&self.draft);
        let Piece::Text { text, .. } = &mut draft.piece else { return };
        let offset = text.len();
        text.push_str(more);
        self.hand_on(&draft, || Piece::Text { offset, text: more.to_owned() });
    }

    /// Gives it up; another one may follow.
    pub(crate) fn discard(&self) {
        let mut draft = lock(&self.draft);
        draft.piece = Piece::NOTHING;
        draft.attempt += 1;
        self.hand_on(&draft, || Piece::DraftDiscarded);
    }

    /// Says that a tool is called.
    pub(crate) fn calling(&self, tool: &str) {
        self.hand_on(&lock(&self.draft), || Piece::Calling { tool: tool.to_owned() });
    }

    fn hand_on(&self, draft: &Delta, piece: impl FnOnce() -> Piece) {
        if self.deltas.is_followed() {
            let Delta { org, conversation, session, run, agent, attempt, .. } = *draft;
            let piece = piece();
            self.deltas.send(Delta { org, conversation, session, run, agent, attempt, piece });
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        lock(&self.deltas.drafts).remove(&self.run);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
