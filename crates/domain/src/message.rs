//! Messages: what they are made of.
//!
//! A message is a list of parts. What is not text lies beside it as a blob, and
//! the part says which.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::BlobId;

/// The most bytes of one blob.
pub const MAX_BLOB_BYTES: usize = 20 * 1024 * 1024;

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image(Attachment),
    /// Sound, spoken or otherwise.
    Audio(Attachment),
    /// Anything else.
    File(Attachment),
    /// A kind that a newer program wrote. People are told that there is something
    /// that cannot be shown.
    #[serde(other)]
    Unknown,
}

impl Part {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A blob as the kind of part that its media type makes it.
    pub fn attached(attachment: Attachment) -> Self {
        match attachment.media_type.top_level() {
            "image" => Self::Image(attachment),
            "audio" => Self::Audio(attachment),
            _ => Self::File(attachment),
        }
    }

    /// The blob beside it, if there is one.
    pub const fn attachment(&self) -> Option<&Attachment> {
        match self {
            Self::Image(blob) | Self::Audio(blob) | Self::File(blob) => Some(blob),
            Self::Text { .. } | Self::Unknown => None,
        }
    }
}

/// A blob, as a message refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The blob.
    pub blob: BlobId,
    /// What its bytes are.
    pub media_type: MediaType,
    /// The name of the file, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its length in bytes.
    pub size: u64,
}

/// What bytes are: `image/png`. In lower case and without parameters, so that it
/// can be compared and is safe in a header.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MediaType(String);

/// The text is not a media type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a media type; one looks like `image/png`")]
pub struct BadMediaType(String);

impl MediaType {
    /// The part before the slash.
    pub fn top_level(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// All of it.
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
    type Error = BadMediaType;

    fn try_from(text: String) -> Result<Self, BadMediaType> {
        text.parse()
    }
}

impl std::str::FromStr for MediaType {
    type Err = BadMediaType;

    fn from_str(text: &str) -> Result<Self, BadMediaType> {
        let sign = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
        let name = |name: &str| (1..=127).contains(&name.len()) && name.chars().all(sign);
        let essence = text.split(';').next().unwrap_or_default().trim();
        match essence.split_once('/') {
            Some((top, sub)) if name(top) && name(sub) => Ok(Self(essence.to_ascii_lowercase())),
            _ => Err(BadMediaType(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Attachment, MediaType, Part};
    use crate::id::BlobId;

    fn attachment(media_type: &str) -> Attachment {
        let blob = BlobId::from_u128(1);
        Attachment { blob, media_type: media_type.parse().unwrap(), name: None, size: 3 }
    }

    #[test]
    fn a_part_survives_being_stored() {
        let named = Attachment { name: Some("menu.pdf".into()), ..attachment("application/pdf") };
        let parts = [
            (Part::text("hi"), r#"{"type":"text","text":"hi"}"#),
            (
                Part::attached(attachment("image/png")),
                r#"{"type":"image","blob":"blb_00000000000000000000000001","media_type":"image/png","size":3}"#,
            ),
            (
                Part::attached(named),
                r#"{"type":"file","blob":"blb_00000000000000000000000001","media_type":"application/pdf","name":"menu.pdf","size":3}"#,
            ),
        ];
        for (part, stored) in parts {
            assert_eq!(serde_json::to_string(&part).unwrap(), stored);
            assert_eq!(serde_json::from_str::<Part>(stored).unwrap(), part);
        }
    }

    #[test]
    fn a_part_of_a_newer_program_can_be_read() {
        let stored = r#"[{"type":"text","text":"look"},{"type":"hologram","depth":{"m":3}}]"#;
        let parts: Vec<Part> = serde_json::from_str(stored).unwrap();
        assert_eq!(parts, [Part::text("look"), Part::Unknown]);
        assert_eq!(serde_json::to_string(&Part::Unknown).unwrap(), r#"{"type":"unknown"}"#);
        assert!(serde_json::from_str::<Part>(r#"{"type":"text"}"#).is_err());
    }

    #[test]
    fn the_media_type_makes_the_kind() {
        assert!(matches!(Part::attached(attachment("image/png")), Part::Image(_)));
        assert!(matches!(Part::attached(attachment("audio/ogg")), Part::Audio(_)));
        assert!(matches!(Part::attached(attachment("video/mp4")), Part::File(_)));
        assert_eq!(Part::text("x").attachment(), None);
        let blob = attachment("audio/ogg");
        assert_eq!(Part::attached(blob.clone()).attachment(), Some(&blob));
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
