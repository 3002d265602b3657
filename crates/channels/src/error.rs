//! What goes wrong, as values: with a binding, with what came in, with a call.

use ostler_domain::message::MAX_BLOB_BYTES;
use ostler_domain::secret::SecretRef;

/// Why a binding cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Its settings are not what its channel needs.
    #[error("the settings of this {channel} binding cannot be used: {why}")]
    Settings {
        /// The channel.
        channel: String,
        /// What is wrong.
        why: String,
    },
    /// It needs a secret and has none.
    #[error("this {channel} binding has no secret; give it {what}")]
    NoSecret {
        /// The channel.
        channel: String,
        /// What the secret is.
        what: &'static str,
    },
    /// The secret cannot be read.
    #[error("the secret of this {channel} binding cannot be read from {at}: {why}")]
    Secret {
        /// The channel.
        channel: String,
        /// Where it is kept.
        at: SecretRef,
        /// What is wrong.
        why: String,
    },
    /// What was read is no secret of the kind that is needed.
    #[error("the secret of this {channel} binding is not {what}")]
    BadSecret {
        /// The channel.
        channel: String,
        /// What it should be.
        what: &'static str,
    },
}

/// Why something that came in is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// Nothing says who sent it.
    #[error("the request is not signed; it needs the header `{0}`")]
    Unsigned(&'static str),
    /// Somebody else sent it, or it was changed on its way.
    #[error("the signature is not right; sign with the secret of this binding")]
    BadSignature,
    /// It was signed too long ago, or in the future.
    #[error("the request was signed at another time; sign it when it is sent, and set the clock")]
    Stale,
    /// The token was good until some time ago.
    #[error("the visitor's token has expired; ask for a new one")]
    Expired,
    /// It cannot be read.
    #[error("the body cannot be read: {0}")]
    BadBody(String),
    /// It is too large.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The channel takes nothing in.
    #[error("nothing comes in through this binding: {0}")]
    NotReceiving(&'static str),
}

/// Why a call that sends no message did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It may work later.
    #[error("{reason}")]
    Later {
        /// What the provider asked for.
        after: Option<std::time::Duration>,
        /// What happened.
        reason: String,
    },
    /// It will not work as it is.
    #[error("{0}")]
    Refused(String),
    /// The file is larger than what is taken.
    #[error("the file is larger than {} MiB and was not taken", MAX_BLOB_BYTES / 1024 / 1024)]
    TooLarge,
}
