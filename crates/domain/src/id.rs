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
/// The value of each character, and of all others one that is none.
const VALUES: [u8; 256] = {
    let (mut values, mut value) = ([u8::MAX; 256], 0);
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

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

/// The written form of an id: a prefix of three letters, `_` and the bits.
struct Written([u8; 4 + LENGTH]);

impl Written {
    const fn new(prefix: [u8; 3], mut bits: u128) -> Self {
        let mut out = [b'_'; 4 + LENGTH];
        [out[0], out[1], out[2]] = prefix;
        let mut place = out.len();
        while place > 4 {
            place -= 1;
            out[place] = ALPHABET[(bits & 31) as usize];
            bits >>= 5;
        }
        Self(out)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn decode(text: &str) -> Option<u128> {
    // 26 characters carry 130 bits: a first character above 7 would overflow.
    if text.len() != LENGTH || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0u128, |bits, byte| {
        let value = VALUES[usize::from(byte)];
        (value < u8::MAX).then_some(bits << 5 | u128::from(value))
    })
}

/// Reads an id from where it is written, without a copy of the text.
struct Reading<T>(std::marker::PhantomData<T>);

impl<T: std::str::FromStr<Err = IdError>> serde::de::Visitor<'_> for Reading<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// The letters before the underscore.
            pub const PREFIX: &'static str = match std::str::from_utf8($prefix) {
                Ok(prefix) => prefix,
                Err(_) => "",
            };

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
                let written = self.written();
                format!("{}_…{}", Self::PREFIX, &written.as_str()[LENGTH..])
            }

            const fn written(self) -> Written {
                Written::new(*$prefix, self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.written().as_str())
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
                serializer.serialize_str(self.written().as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Reading(std::marker::PhantomData))
            }
        }
    )*};
}

ids! {
    /// An organization.
    OrgId = b"org";
    /// A person with a log-in.
    UserId = b"usr";
    /// An agent.
    AgentId = b"agt";
    /// A contact: a person outside.
    ContactId = b"con";
    /// A channel binding of an org.
    BindingId = b"bnd";
    /// A conversation: what order and the lease are kept on.
    ConversationId = b"cnv";
    /// A session.
    SessionId = b"ses";
    /// A thread: an ordered list of messages.
    ThreadId = b"thr";
    /// A message of a thread.
    MessageId = b"msg";
    /// A run.
    RunId = b"run";
    /// A message that was accepted and waits for its turn.
    InboxId = b"inb";
    /// A message that waits to be sent.
    OutboxId = b"out";
    /// A call of a tool that reaches outside.
    CallId = b"cal";
    /// A business record.
    RecordId = b"rec";
    /// An approval.
    ApprovalId = b"apr";
    /// A hand-over to a human.
    EscalationId = b"esc";
    /// An issue sent up the org tree.
    IssueId = b"iss";
    /// Work given down the org tree, or to an agent on the bus.
    DelegationId = b"del";
    /// A learning sent up the org tree.
    InsightId = b"ins";
    /// A soul proposal.
    ProposalId = b"prp";
    /// A credit reservation.
    ReservationId = b"rsv";
    /// A knowledge document.
    DocumentId = b"doc";
    /// An API key.
    KeyId = b"key";
    /// A connection of an org to another service.
    IntegrationId = b"int";
    /// Bytes beside a message: an image, a recording, a file.
    BlobId = b"blb";
    /// Something that somebody is told.
    NoticeId = b"ntc";
    /// A line of the audit log.
    AuditId = b"aud";
    /// A message on the bus.
    EnvelopeId = b"env";
    /// A workflow that was started.
    WorkflowId = b"wfl";
    /// Something that happened and that workflows may wait for.
    EventId = b"evt";
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
