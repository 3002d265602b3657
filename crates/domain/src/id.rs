//! Typed identifiers: `ses_01jd0v4k9pf2ht6z3m8w5x7ybc`.
//!
//! An id is 128 bits that the edge makes as a UUID v7, so that ids sort by the
//! time they were made; here they are only compared, written and read. The
//! written form is a prefix that names the kind and 26 characters of
//! Crockford's base 32, which keeps the order of the bits.

use std::fmt;

/// The characters of Crockford's base 32, in the order of their values.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// How many characters 128 bits take.
const LENGTH: usize = 26;

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The prefix is missing or names another kind.
    #[error("`{text}` is not an id of this kind; it should start with `{prefix}_`")]
    Prefix {
        /// What was given.
        text: String,
        /// The prefix that was expected.
        prefix: &'static str,
    },
    /// The part behind the prefix is not 26 characters of base 32.
    #[error("`{text}` is not a complete id; `{prefix}_` is followed by 26 letters and digits")]
    Body {
        /// What was given.
        text: String,
        /// The prefix of the kind.
        prefix: &'static str,
    },
}

fn encode(mut bits: u128) -> String {
    let mut out = [0u8; LENGTH];
    for slot in out.iter_mut().rev() {
        *slot = ALPHABET[(bits & 31) as usize];
        bits >>= 5;
    }
    out.iter().map(|&byte| char::from(byte)).collect()
}

fn decode(text: &str) -> Option<u128> {
    // 26 characters carry 130 bits: a first character above 7 would overflow.
    if text.len() != LENGTH || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0u128, |bits, byte| {
        let value = ALPHABET.iter().position(|&known| known == byte)?;
        Some(bits << 5 | value as u128)
    })
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// The letters before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// The id of these bits; production code takes them from a UUID v7.
            pub const fn from_u128(bits: u128) -> Self {
                Self(bits)
            }

            /// The bits, for storage.
            pub const fn as_u128(self) -> u128 {
                self.0
            }

            /// The form for a screen: the prefix and the last four characters.
            pub fn short(self) -> String {
                let body = encode(self.0);
                format!("{}_…{}", Self::PREFIX, &body[LENGTH - 4..])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", Self::PREFIX, encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let body = text
                    .strip_prefix(Self::PREFIX)
                    .and_then(|rest| rest.strip_prefix('_'))
                    .ok_or_else(|| IdError::Prefix { text: text.to_owned(), prefix: Self::PREFIX })?;
                decode(body)
                    .map(Self)
                    .ok_or_else(|| IdError::Body { text: text.to_owned(), prefix: Self::PREFIX })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// An organization.
    OrgId = "org";
    /// A person with a log-in.
    UserId = "usr";
    /// An agent.
    AgentId = "agt";
    /// A contact: a person outside.
    ContactId = "con";
    /// A channel binding of an org.
    BindingId = "bnd";
    /// A conversation: what order and the lease are kept on.
    ConversationId = "cnv";
    /// A session.
    SessionId = "ses";
    /// A thread: an ordered list of messages.
    ThreadId = "thr";
    /// A message of a thread.
    MessageId = "msg";
    /// A run.
    RunId = "run";
    /// A message that was accepted and waits for its turn.
    InboxId = "inb";
    /// A message that waits to be sent.
    OutboxId = "out";
    /// A call of a tool that reaches outside.
    CallId = "cal";
    /// A business record.
    RecordId = "rec";
    /// An approval.
    ApprovalId = "apr";
    /// A hand-over to a human.
    EscalationId = "esc";
    /// An issue sent up the org tree.
    IssueId = "iss";
    /// Work given down the org tree, or to an agent on the bus.
    DelegationId = "del";
    /// A learning sent up the org tree.
    InsightId = "ins";
    /// A soul proposal.
    ProposalId = "prp";
    /// A credit reservation.
    ReservationId = "rsv";
    /// A knowledge document.
    DocumentId = "doc";
    /// An API key.
    KeyId = "key";
    /// A connection of an org to another service.
    IntegrationId = "int";
    /// Bytes beside a message: an image, a recording, a file.
    BlobId = "blb";
    /// Something that somebody is told.
    NoticeId = "ntc";
    /// A line of the audit log.
    AuditId = "aud";
    /// A message on the bus.
    EnvelopeId = "env";
    /// A workflow that was started.
    WorkflowId = "wfl";
    /// Something that happened and that workflows may wait for.
    EventId = "evt";
}

#[cfg(test)]
mod tests {
    use super::{AgentId, IdError, SessionId};

    #[test]
    fn an_id_reads_back_what_it_wrote() {
        for bits in [0, 1, u128::MAX, 0x0192_0000_0000_7000_8000_0000_0000_0001] {
            let id = SessionId::from_u128(bits);
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.to_string().len(), "ses_".len() + 26);
        }
    }

    #[test]
    fn written_ids_sort_like_their_bits() {
        let mut bits = [7, 1 << 100, 3, u128::MAX, 1 << 64];
        let mut written = bits.map(|b| AgentId::from_u128(b).to_string());
        bits.sort_unstable();
        written.sort_unstable();
        assert_eq!(written, bits.map(|b| AgentId::from_u128(b).to_string()));
    }

    #[test]
    fn a_wrong_text_is_refused_with_what_to_write() {
        let check = |text: &str, expected: IdError| {
            assert_eq!(text.parse::<SessionId>(), Err(expected));
        };
        let prefix = "ses";
        for text in ["agt_00000000000000000000000001", "", "ses", "xses_0"] {
            check(text, IdError::Prefix { text: text.into(), prefix });
        }
        for text in [
            "ses_",
            "ses_0000000000000000000000000",
            "ses_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "ses_0000000000000000000000000u",
        ] {
            check(text, IdError::Body { text: text.into(), prefix });
        }
    }

    #[test]
    fn the_short_form_shows_the_end() {
        assert_eq!(SessionId::from_u128(31).short(), "ses_…000z");
    }
}
