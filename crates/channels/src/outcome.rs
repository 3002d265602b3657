//! What became of a send. Whether it is tried again is for
//! [`ostler_domain::channel::delivery`] to say.

use std::time::Duration;

use ostler_domain::channel::delivery::SendFailure;

/// What became of a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider has it.
    Delivered {
        /// What the provider calls it, if it says.
        provider_id: Option<String>,
    },
    /// The provider has not taken it and may do so later.
    Retry {
        /// What the provider asked for.
        after: Option<Duration>,
        /// What happened.
        reason: String,
    },
    /// The provider could not read the formatting: the same as plain text may go.
    Formatting {
        /// What the provider said.
        reason: String,
    },
    /// The provider will never take it.
    Rejected {
        /// What the provider said.
        reason: String,
    },
    /// The provider may or may not have it: the answer did not come.
    Unknown {
        /// What happened.
        reason: String,
    },
}

impl Outcome {
    /// How it failed, if it did.
    pub const fn failure(&self) -> Option<SendFailure> {
        match self {
            Self::Delivered { .. } => None,
            Self::Retry { after, .. } => Some(SendFailure::Transient { retry_after: *after }),
            Self::Formatting { .. } => Some(SendFailure::Formatting),
            Self::Rejected { .. } => Some(SendFailure::Permanent),
            Self::Unknown { .. } => Some(SendFailure::Ambiguous),
        }
    }

    /// What happened, in words for operators.
    pub fn reason(&self) -> &str {
        match self {
            Self::Delivered { .. } => "it was delivered",
            Self::Retry { reason, .. }
            | Self::Formatting { reason }
            | Self::Rejected { reason }
            | Self::Unknown { reason } => reason,
        }
    }

    pub(crate) fn retry(reason: impl Into<String>) -> Self {
        Self::Retry { after: None, reason: reason.into() }
    }

    pub(crate) fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected { reason: reason.into() }
    }

    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown { reason: reason.into() }
    }
}
