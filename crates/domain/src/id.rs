//! Typed identifiers: `ses_01jd0v4k9pf2ht6z3m8w5x7ybc`.
//!
//! An id is 128 bits, made at the edge as a UUID v7 so that ids sort by creation
//! time; this module only compares, formats and parses them. The text form is a
//! prefix that names the kind, and 26 characters of Crockford base 32, which keeps
//! the order of the bits.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The digits of Crockford base 32, in the order of their values.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The number of characters that 128 bits take.
const BODY_LENGTH: usize = 26;
/// The value of each byte as a digit; `u8::MAX` for a byte that is none.
const DIGIT_VALUES: [u8; 256] = {
    let (mut values, mut value) = ([u8::MAX; 256], 0);
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// The reason why a text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The prefix is missing or names another kind.
    #[error("`{text}` is not an id of this kind; it should start with `{prefix}_`")]
    Prefix { text: String, prefix: &'static str },
    /// The part after the prefix is not 26 characters of base 32.
    #[error("`{text}` is not a complete id; `{prefix}_` is followed by 26 letters and digits")]
    Body { text: String, prefix: &'static str },
}

/// The text form of an id: a prefix of three letters, `_` and the bits.
struct IdText([u8; 4 + BODY_LENGTH]);

impl IdText {
    const fn new(prefix: [u8; 3], mut bits: u128) -> Self {
        let mut out = [b'_'; 4 + BODY_LENGTH];
        [out[0], out[1], out[2]] = prefix;
        let mut position = out.len();
        while position > 4 {
            position -= 1;
            out[position] = ALPHABET[(bits & 31) as usize];
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
    if text.len() != BODY_LENGTH || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0u128, |bits, byte| {
        let value = DIGIT_VALUES[usize::from(byte)];
        (value < u8::MAX).then_some(bits << 5 | u128::from(value))
    })
}

/// Returns the JSON Schema of the ids with a prefix.
fn schema(prefix: &str) -> Schema {
    let pattern = format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$");
    json_schema!({"type": "string", "pattern": pattern})
}

/// Parses an id without copying the text.
struct IdVisitor<T>(std::marker::PhantomData<T>);

impl<T: std::str::FromStr<Err = IdError>> serde::de::Visitor<'_> for IdVisitor<T> {
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

            /// Makes an id of these bits; production code takes them from a UUID v7.
            pub const fn from_u128(bits: u128) -> Self {
                Self(bits)
            }

            /// Returns the bits, for storage.
            pub const fn as_u128(self) -> u128 {
                self.0
            }

            /// Returns a short form for screens: the prefix and the last four characters.
            pub fn short(self) -> String {
                let text = self.to_text();
                format!("{}_…{}", Self::PREFIX, &text.as_str()[BODY_LENGTH..])
            }

            const fn to_text(self) -> IdText {
                IdText::new(*$prefix, self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.to_text().as_str())
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

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema(Self::PREFIX)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.to_text().as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(IdVisitor(std::marker::PhantomData))
            }
        }
    )*};
}

ids! {
    /// An organization.
    OrgId = b"org";
    /// A user with a login.
    UserId = b"usr";
    /// An agent.
    AgentId = b"agt";
    /// A contact.
    ContactId = b"con";
    /// A channel binding of an org.
    BindingId = b"bnd";
    /// A conversation, which messages are ordered by and leases are taken on.
    ConversationId = b"cnv";
    /// A session.
    SessionId = b"ses";
    /// A thread: an ordered list of messages.
    ThreadId = b"thr";
    /// A message of a thread.
    MessageId = b"msg";
    /// A note of a person about a session.
    NoteId = b"nte";
    /// A webhook: an address to which events are sent.
    WebhookId = b"whk";
    /// An event that is sent to a webhook.
    WebhookDeliveryId = b"whd";
    /// A run.
    RunId = b"run";
    /// An inbox entry: a received message that waits to be processed.
    InboxId = b"inb";
    /// An outbox entry: a message that waits to be sent.
    OutboxId = b"out";
    /// A tool call that reaches an outside service.
    CallId = b"cal";
    /// A business record.
    RecordId = b"rec";
    /// An approval.
    ApprovalId = b"apr";
    /// An escalation to a human.
    EscalationId = b"esc";
    /// An issue sent up the org tree.
    IssueId = b"iss";
    /// A delegation to a child org or to a queue agent.
    DelegationId = b"del";
    /// An insight sent up the org tree.
    InsightId = b"ins";
    /// A soul proposal.
    ProposalId = b"prp";
    /// A credit reservation.
    ReservationId = b"rsv";
    /// A knowledge document.
    DocumentId = b"doc";
    /// An API key.
    KeyId = b"key";
    /// A log-in of a user.
    LoginId = b"lgn";
    /// An invitation to an org.
    InvitationId = b"inv";
    /// An integration: a connection of an org to another service.
    IntegrationId = b"int";
    /// A blob of a message: an image, a recording, a file.
    BlobId = b"blb";
    /// A notice.
    NoticeId = b"ntc";
    /// An entry of the audit log.
    AuditId = b"aud";
    /// A message on the bus.
    EnvelopeId = b"env";
    /// A running or finished workflow.
    WorkflowId = b"wfl";
    /// An event that workflows can wait for.
    EventId = b"evt";
}

#[cfg(test)]
mod tests {
    use super::{AgentId, IdError, SessionId};

    #[test]
    fn an_id_parses_back_from_its_text() {
        for bits in [0, 1, u128::MAX, 0x0192_0000_0000_7000_8000_0000_0000_0001] {
            let id = SessionId::from_u128(bits);
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.to_string().len(), "ses_".len() + 26);
        }
    }

    #[test]
    fn written_ids_sort_like_their_bits() {
        let mut bits = [7, 1 << 100, 3, u128::MAX, 1 << 64];
        let mut texts = bits.map(|b| AgentId::from_u128(b).to_string());
        bits.sort_unstable();
        texts.sort_unstable();
        assert_eq!(texts, bits.map(|b| AgentId::from_u128(b).to_string()));
    }

    #[test]
    fn an_invalid_text_is_refused_with_the_expected_form() {
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
