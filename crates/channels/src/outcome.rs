//! The outcome of a send. Whether to retry is decided by
//! [`ostler_domain::channel::delivery`].

use std::time::Duration;

use ostler_domain::channel::delivery::SendFailure;

/// The outcome of sending one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The provider accepted the piece.
    Delivered {
        /// The provider's id of the message, if it returns one.
        provider_id: Option<String>,
    },
    /// The provider did not accept the piece and may do so later.
    Retry {
        /// The wait that the provider asked for.
        retry_after: Option<Duration>,
        reason: String,
    },
    /// The provider cannot parse the formatting; plain text may be accepted.
    FormattingRejected { reason: String },
    /// The provider will never accept the piece.
    Rejected { reason: String },
    /// The provider may have accepted the piece: its response was lost.
    Unknown { reason: String },
}

impl SendOutcome {
    /// Returns the kind of failure, or `None` if the piece was delivered.
    pub const fn failure(&self) -> Option<SendFailure> {
        match self {
            Self::Delivered { .. } => None,
            Self::Retry { retry_after, .. } => {
                Some(SendFailure::Transient { retry_after: *retry_after })
            }
            Self::FormattingRejected { .. } => Some(SendFailure::Formatting),
            Self::Rejected { .. } => Some(SendFailure::Permanent),
            Self::Unknown { .. } => Some(SendFailure::Ambiguous),
        }
    }

    /// Returns a description for operators.
    pub fn reason(&self) -> &str {
        match self {
            Self::Delivered { .. } => "delivered",
            Self::Retry { reason, .. }
            | Self::FormattingRejected { reason }
            | Self::Rejected { reason }
            | Self::Unknown { reason } => reason,
        }
    }

    pub(crate) fn retry(reason: impl Into<String>) -> Self {
        Self::Retry { retry_after: None, reason: reason.into() }
    }

    pub(crate) fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected { reason: reason.into() }
    }

    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown { reason: reason.into() }
    }
}
