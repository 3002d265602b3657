//! Observational memory of a thread: how a long conversation stays within a bounded
//! prompt.
//!
//! Messages collect in a window. Before the window is full, an *observer* condenses its
//! oldest messages into [`Observation`]s in the background (buffering); when it is full,
//! finished observations take the place of those messages (activation), which costs no
//! model call. When the observations grow too long themselves, a *reflector* merges them.
//!
//! | module | contents |
//! |---|---|
//! | [`window`] | what is in the prompt, and what to do next |
//! | [`observation`] | observations, and the list of those in the prompt |
//! | [`answer`] | parsing what the observer and the reflector answer |
//! | [`reflection`] | applying a reflection, and the check that it loses nothing |
//! | [`facts`] | the identifiers, numbers, dates and completion marks of a text |
//!
//! Nothing here deletes a message: what leaves the prompt is found by a text search.

pub mod answer;
pub mod facts;
pub mod observation;
pub mod reflection;
mod settings;
pub mod window;

use serde::{Deserialize, Serialize};

pub use observation::{Observation, ObservationLog};
pub use settings::{MemorySettings, MemorySettingsError};
pub use window::MemoryWindow;

/// Consecutive messages of a thread, by sequence number. Both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageSpan {
    pub first: i64,
    pub last: i64,
}

impl MessageSpan {
    /// Returns the smallest span that contains both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// Who wrote a message of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageOrigin {
    /// A person, the model or a tool.
    #[default]
    Conversation,
    /// The harness itself: notices, corrections, prompts of the observer. Such a control text
    /// is never observed and never recalled.
    Harness,
}
