//! What was said in a turn, in the form that models are given it.

use std::fmt;
use std::sync::Arc;

use ostler_domain::id::BlobId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::Outcome;

/// One entry of a conversation. Every call of an assistant's entry has exactly
/// one result in the entry that follows it; providers insist on that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Item {
    /// Somebody wrote, or the runtime did on their behalf.
    User {
        /// What they wrote.
        content: Vec<Content>,
    },
    /// The model answered.
    Assistant {
        /// What it said.
        text: String,
        /// What it called.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// Whether it was stopped in the middle.
        #[serde(default, skip_serializing_if = "is_false")]
        partial: bool,
    },
    /// What the calls before it came to, in their order.
    Results {
        /// One for each call.
        results: Vec<CallResult>,
    },
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Item {
    /// What a person wrote.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![Content::text(text)] }
    }

    /// Whether it has a call of this id.
    pub fn calls(&self, id: &str) -> bool {
        matches!(self, Self::Assistant { calls, .. } if calls.iter().any(|call| *call.id.0 == *id))
    }

    /// What the model said, without calling anything.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), calls: Vec::new(), partial: false }
    }
}

/// A piece of what somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image(Media),
    /// A recording.
    Audio(Media),
    /// Any other file.
    File(Media),
}

impl Content {
    /// What lies beside the words, if it does.
    pub const fn media(&self) -> Option<&Media> {
        match self {
            Self::Image(media) | Self::Audio(media) | Self::File(media) => Some(media),
            Self::Text { .. } => None,
        }
    }

    /// The same, to load it.
    pub const fn media_mut(&mut self) -> Option<&mut Media> {
        match self {
            Self::Image(media) | Self::Audio(media) | Self::File(media) => Some(media),
            Self::Text { .. } => None,
        }
    }

    /// What a model is told that cannot take it.
    pub fn in_words(&self) -> String {
        let (kind, cannot) = match self {
            Self::Text { text } => return text.clone(),
            Self::Image(_) => ("picture", "see"),
            Self::Audio(_) => ("recording", "hear"),
            Self::File(_) => ("file", "read"),
        };
        let what = self.media().map_or("", Media::called);
        format!("[a {kind}, {what}, which you cannot {cannot}]")
    }

    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A picture, a recording or a file. Its bytes are not part of what is stored;
/// whoever takes a turn up again loads them from the blob.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Media {
    /// Where its bytes are kept.
    pub blob: Option<BlobId>,
    /// What they are: `image/png`.
    pub media_type: String,
    /// The name of the file, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its length in bytes, as far as it is known.
    #[serde(default)]
    pub size: u64,
    /// The bytes in base 64, as the providers take them.
    #[serde(skip)]
    pub data: Option<Arc<str>>,
}

impl Media {
    /// What it is called: its name, or what it is.
    pub fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.media_type)
    }
}

/// The name that a model gave to a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Arc<str>);

impl CallId {
    /// A call of this name.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call that a model made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: CallId,
    /// The tool, as the model named it.
    pub name: String,
    /// The arguments; an empty object if they could not be read.
    pub arguments: Value,
    /// What the model wrote instead of arguments, if that is no JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl ToolCall {
    /// A call with the text of its arguments as the model wrote it. No text at
    /// all means no arguments. The name is made one that providers take back.
    pub fn new(id: CallId, name: &str, text: &str) -> Self {
        let (name, nothing) = (clean(name), || Value::Object(serde_json::Map::new()));
        if text.trim().is_empty() {
            return Self { id, name, arguments: nothing(), unreadable: None };
        }
        match serde_json::from_str(text) {
            Ok(arguments @ Value::Object(_)) if depth(&arguments) <= MOST_DEEP => {
                Self { id, name, arguments, unreadable: None }
            }
            _ => Self { id, name, arguments: nothing(), unreadable: Some(text.to_owned()) },
        }
    }
}

/// How deep arguments may be nested: enough for any tool, and little enough that
/// a turn that was stored can be read again.
const MOST_DEEP: usize = 24;
/// The longest name of a tool.
const LONGEST: usize = 64;

fn depth(value: &Value) -> usize {
    let inside = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + inside.unwrap_or(0)
}

/// Whether providers take this as a name or an id.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// A name with nothing in it that providers refuse.
fn clean(name: &str) -> String {
    if is_plain(name) && name.len() <= LONGEST {
        return name.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let cleaned: String = name.chars().take(LONGEST).map(plain).collect();
    if cleaned.is_empty() { "unnamed".into() } else { cleaned }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call.
    pub call: CallId,
    /// What it came to.
    pub outcome: Outcome,
}
