//! Messages: the parts they consist of, their authors and purposes.
//!
//! Anything but text is stored as a blob, and the part refers to it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AgentId, BlobId, UserId};

/// The largest size of a blob, in bytes.
pub const MAX_BLOB_BYTES: usize = 20 * 1024 * 1024;

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart {
    /// Words.
    Text {
        text: String,
    },
    Image(Attachment),
    /// Audio, spoken or otherwise.
    Audio(Attachment),
    /// Any other media type.
    File(Attachment),
    /// A kind written by a newer version. It is shown as content that cannot be
    /// displayed.
    #[serde(other)]
    Unknown,
}

impl MessagePart {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns a part for a blob; the media type decides which kind.
    pub fn from_attachment(attachment: Attachment) -> Self {
        match attachment.media_type.top_level() {
            "image" => Self::Image(attachment),
            "audio" => Self::Audio(attachment),
            _ => Self::File(attachment),
        }
    }

    /// Returns the blob that the part refers to, if any.
    pub const fn attachment(&self) -> Option<&Attachment> {
        match self {
            Self::Image(blob) | Self::Audio(blob) | Self::File(blob) => Some(blob),
            Self::Text { .. } | Self::Unknown => None,
        }
    }
}

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum MessageAuthor {
    Customer {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Agent {
        id: AgentId,
    },
    /// A person who took the conversation over.
    Human {
        user: UserId,
    },
    /// The runtime itself.
    System,
}

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessagePurpose {
    #[default]
    Talk,
    /// Introduces a colleague's answer.
    Transition,
    /// Asks the customer to wait.
    Hold,
    /// Tells the customer something about the conversation itself.
    Notice,
}

/// A reference to a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    pub blob: BlobId,
    pub media_type: MediaType,
    /// The file name, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In bytes.
    pub size: u64,
}

/// A media type such as `image/png`, in lower case and without parameters, so that
/// it can be compared and is safe in a header.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct MediaType(String);

/// A text that is not a media type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a media type; one looks like `image/png`")]
pub struct InvalidMediaType(String);

impl MediaType {
    /// Returns the part before the slash.
    pub fn top_level(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// Returns the whole media type.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<MediaType> for String {
    fn from(media_type: MediaType) -> Self {
        media_type.0
    }
}

impl TryFrom<String> for MediaType {
    type Error = InvalidMediaType;

    fn try_from(text: String) -> Result<Self, InvalidMediaType> {
        text.parse()
    }
}

impl std::str::FromStr for MediaType {
    type Err = InvalidMediaType;

    fn from_str(text: &str) -> Result<Self, InvalidMediaType> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
        let is_name = |name: &str| (1..=127).contains(&name.len()) && name.chars().all(is_allowed);
        let essence = text.split(';').next().unwrap_or_default().trim();
        match essence.split_once('/') {
            Some((top, sub)) if is_name(top) && is_name(sub) => {
                Ok(Self(essence.to_ascii_lowercase()))
            }
            _ => Err(InvalidMediaType(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Attachment, MediaType, MessagePart};
    use crate::id::BlobId;

    fn attachment(media_type: &str) -> Attachment {
        let blob = BlobId::from_u128(1);
        Attachment { blob, media_type: media_type.parse().unwrap(), name: None, size: 3 }
    }

    #[test]
    fn a_part_reads_back_as_it_was_stored() {
        let named = Attachment { name: Some("menu.pdf".into()), ..attachment("application/pdf") };
        let parts = [
            (MessagePart::text("hi"), r#"{"type":"text","text":"hi"}"#),
            (
                MessagePart::from_attachment(attachment("image/png")),
                r#"{"type":"image","blob":"blb_00000000000000000000000001","media_type":"image/png","size":3}"#,
            ),
            (
                MessagePart::from_attachment(named),
                r#"{"type":"file","blob":"blb_00000000000000000000000001","media_type":"application/pdf","name":"menu.pdf","size":3}"#,
            ),
        ];
        for (part, stored) in parts {
            assert_eq!(serde_json::to_string(&part).unwrap(), stored);
            assert_eq!(serde_json::from_str::<MessagePart>(stored).unwrap(), part);
        }
    }

    #[test]
    fn a_part_of_an_unknown_kind_can_be_read() {
        let stored = r#"[{"type":"text","text":"look"},{"type":"hologram","depth":{"m":3}}]"#;
        let parts: Vec<MessagePart> = serde_json::from_str(stored).unwrap();
        assert_eq!(parts, [MessagePart::text("look"), MessagePart::Unknown]);
        assert_eq!(serde_json::to_string(&MessagePart::Unknown).unwrap(), r#"{"type":"unknown"}"#);
        assert!(serde_json::from_str::<MessagePart>(r#"{"type":"text"}"#).is_err());
    }

    #[test]
    fn the_media_type_decides_the_kind_of_part() {
        assert!(matches!(
            MessagePart::from_attachment(attachment("image/png")),
            MessagePart::Image(_)
        ));
        assert!(matches!(
            MessagePart::from_attachment(attachment("audio/ogg")),
            MessagePart::Audio(_)
        ));
        assert!(matches!(
            MessagePart::from_attachment(attachment("video/mp4")),
            MessagePart::File(_)
        ));
        assert_eq!(MessagePart::text("x").attachment(), None);
        let blob = attachment("audio/ogg");
        assert_eq!(MessagePart::from_attachment(blob.clone()).attachment(), Some(&blob));
    }

    #[test]
    fn a_media_type_is_safe_in_a_header() {
        let read = |text: &str| text.parse::<MediaType>().ok().map(|media| media.to_string());
        let table = [
            ("Image/PNG", Some("image/png")),
            (" text/plain ; charset=utf-8", Some("text/plain")),
            ("application/vnd.ms-excel+x", Some("application/vnd.ms-excel+x")),
            ("image", None),
            ("image/", None),
            ("/png", None),
            ("a/b/c", None),
            ("text/html\r\nset-cookie: x", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
        assert_eq!(read(&format!("a/{}", "b".repeat(128))), None);
    }
}
