//! The conversation of a turn, in the form that models are given.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use ostler_domain::id::BlobId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::ToolOutcome;

/// One entry of a conversation. Every call of an assistant entry has exactly one
/// result in the next entry; providers require that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Item {
    /// A message from a person, or from the runtime on their behalf.
    User { content: Vec<Content> },
    /// An answer of the model.
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// Whether the answer was stopped before it was complete.
        #[serde(default, skip_serializing_if = "is_false")]
        partial: bool,
    },
    /// The results of the calls in the previous entry, in the same order.
    Results { results: Vec<CallResult> },
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Item {
    /// Creates a user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![Content::text(text)] }
    }

    /// Returns whether the entry contains a call with this id.
    pub fn has_call(&self, id: &str) -> bool {
        matches!(self, Self::Assistant { calls, .. } if calls.iter().any(|call| *call.id.0 == *id))
    }

    /// Creates an answer without calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), calls: Vec::new(), partial: false }
    }
}

/// A part of a user message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Text { text: String },
    Image(Media),
    Audio(Media),
    File(Media),
}

impl Content {
    /// Returns the attachment, unless this is text.
    pub const fn media(&self) -> Option<&Media> {
        match self {
            Self::Image(media) | Self::Audio(media) | Self::File(media) => Some(media),
            Self::Text { .. } => None,
        }
    }

    /// Returns the attachment for modification, for example to load its bytes.
    pub const fn media_mut(&mut self) -> Option<&mut Media> {
        match self {
            Self::Image(media) | Self::Audio(media) | Self::File(media) => Some(media),
            Self::Text { .. } => None,
        }
    }

    /// Returns a text for models that do not accept this kind of content.
    pub fn describe(&self) -> String {
        let (kind, cannot) = match self {
            Self::Text { text } => return text.clone(),
            Self::Image(_) => ("picture", "see"),
            Self::Audio(_) => ("recording", "hear"),
            Self::File(_) => ("file", "read"),
        };
        let label = self.media().map_or("", Media::label);
        format!("[a {kind}, {label}, which you cannot {cannot}]")
    }

    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// An image, a recording or a file. Its bytes are not serialized; they are loaded
/// from the blob when a turn is resumed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Media {
    /// The stored bytes.
    pub blob: Option<BlobId>,
    /// The MIME type, for example `image/png`.
    pub media_type: String,
    /// The file name, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The length in bytes; 0 if unknown.
    #[serde(default)]
    pub size: u64,
    /// The bytes in base64, as providers take them.
    #[serde(skip)]
    pub data: Option<Arc<str>>,
}

impl Media {
    /// Returns the file name, or the media type if there is none.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.media_type)
    }
}

/// The id a model gave to a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Arc<str>);

impl CallId {
    /// Creates an id.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The arguments of a call, shared by all copies of the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct CallArguments(Arc<Value>);

impl Default for CallArguments {
    fn default() -> Self {
        Value::Object(serde_json::Map::new()).into()
    }
}

impl From<Value> for CallArguments {
    fn from(arguments: Value) -> Self {
        Self(Arc::new(arguments))
    }
}

impl Deref for CallArguments {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl From<CallArguments> for Value {
    fn from(arguments: CallArguments) -> Self {
        Arc::unwrap_or_clone(arguments.0)
    }
}

impl fmt::Display for CallArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq<Value> for CallArguments {
    fn eq(&self, other: &Value) -> bool {
        *self.0 == *other
    }
}

/// A tool call made by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: CallId,
    /// The tool name as the model wrote it.
    pub name: String,
    /// The arguments; an empty object if they could not be parsed.
    pub arguments: CallArguments,
    /// What the model wrote instead of a JSON object, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl ToolCall {
    /// Creates a call from the argument text the model wrote. An empty text means no
    /// arguments. The name is changed to one that providers accept.
    pub fn new(id: CallId, name: &str, text: &str) -> Self {
        let (name, no_arguments) = (sanitize_name(name), CallArguments::default);
        if text.trim().is_empty() {
            return Self { id, name, arguments: no_arguments(), unreadable: None };
        }
        match serde_json::from_str(text) {
            Ok(arguments @ Value::Object(_)) if depth(&arguments) <= MAX_DEPTH => {
                Self { id, name, arguments: arguments.into(), unreadable: None }
            }
            _ => Self { id, name, arguments: no_arguments(), unreadable: Some(text.to_owned()) },
        }
    }
}

/// How deep arguments may be nested: deep enough for any tool, and shallow enough
/// that a stored turn can be deserialized.
const MAX_DEPTH: usize = 24;
const MAX_NAME_LEN: usize = 64;

fn depth(value: &Value) -> usize {
    let inside = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + inside.unwrap_or(0)
}

/// Returns whether providers accept this as a name or an id.
pub(crate) fn is_valid_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Replaces characters that providers reject.
fn sanitize_name(name: &str) -> String {
    if is_valid_identifier(name) && name.len() <= MAX_NAME_LEN {
        return name.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let cleaned: String = name.chars().take(MAX_NAME_LEN).map(plain).collect();
    if cleaned.is_empty() { "unnamed".into() } else { cleaned }
}

/// The outcome of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub call: CallId,
    pub outcome: ToolOutcome,
}
