//! Errors of opening a binding, of receiving and of calling a provider.

use std::time::Duration;

use ostler_domain::message::MAX_BLOB_BYTES;
use ostler_domain::secret::SecretRef;

use crate::settings::InvalidSetting;

/// Why a binding cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("the settings of this {channel} binding are invalid: {reason}")]
    InvalidSettings { channel: String, reason: String },
    #[error("this {channel} binding has no secret; it needs {expected}")]
    MissingSecret { channel: String, expected: &'static str },
    #[error("the secret of this {channel} binding cannot be read from {location}: {reason}")]
    UnreadableSecret { channel: String, location: SecretRef, reason: String },
    #[error("the secret of this {channel} binding is not {expected}")]
    InvalidSecret { channel: String, expected: &'static str },
}

impl OpenError {
    pub(crate) fn invalid_settings(channel: &str, invalid: &InvalidSetting) -> Self {
        Self::InvalidSettings { channel: channel.to_owned(), reason: invalid.to_string() }
    }
}

/// Why an inbound request is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// The named header or field, which authenticates the request, is missing.
    #[error("the request is not signed: `{0}` is missing")]
    Unsigned(&'static str),
    #[error("the signature is invalid; sign with the secret of this binding")]
    BadSignature,
    /// The request was signed too long ago, or in the future.
    #[error(
        "the time of the signature is too far from now; sign when sending, and check the clock"
    )]
    StaleTimestamp,
    #[error("the visitor's token or ticket has expired; request a new one")]
    TokenExpired,
    #[error("the proof of the address has expired; the page's server has to make a new one")]
    ProofExpired,
    #[error("the body cannot be read: {0}")]
    BadBody(String),
    /// Holds the limit in bytes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("this binding does not receive messages: {0}")]
    InboundDisabled(&'static str),
}

/// Why a call that sends no message failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("{reason}")]
    Retryable {
        /// The wait that the provider asked for.
        retry_after: Option<Duration>,
        reason: String,
    },
    #[error("{0}")]
    Rejected(String),
    #[error("the file is larger than {} MiB", MAX_BLOB_BYTES / 1024 / 1024)]
    TooLarge,
}
