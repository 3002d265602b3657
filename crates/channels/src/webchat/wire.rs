//! The JSON of the web chat: requests of pages, and the events they receive.

use bytes::Bytes;
use ostler_domain::message::MediaType;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::button::Button;
use crate::outbound::MessagePiece;

/// The request for a visitor's token.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VisitorTokenRequest {
    /// The visitor's address, if the page's own server knows it.
    #[serde(default)]
    pub email: Option<String>,
    /// The signature of the address and of `expires` by the page's own server.
    #[serde(default)]
    pub proof: Option<String>,
    /// When the proof expires, in seconds since 1970; at most a day ahead.
    #[serde(default)]
    pub expires: Option<i64>,
}

/// The response with a visitor's token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VisitorTokenResponse {
    pub token: String,
}

/// The response with a ticket for a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamTicketResponse {
    pub ticket: String,
}

/// A message of a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VisitorMessage {
    /// Chosen by the page, and the same when it repeats the request.
    pub id: String,
    #[serde(default)]
    pub text: Option<String>,
    /// The data of a pressed button.
    #[serde(default)]
    pub press: Option<String>,
    #[serde(default)]
    pub files: Vec<UploadedFile>,
    /// The name that the visitor enters.
    #[serde(default)]
    pub name: Option<String>,
    /// The language of the browser.
    #[serde(default)]
    pub locale: Option<String>,
}

/// A file in a message of a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UploadedFile {
    pub name: String,
    pub media_type: MediaType,
    #[serde(with = "crate::encoding::base64_bytes")]
    #[schemars(with = "String", extend("contentEncoding" = "base64"))]
    pub content: Bytes,
}

/// The data of a server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WebchatEvent {
    /// A message of the conversation, including those of the visitor.
    Message {
        id: String,
        from: WebchatAuthor,
        /// The name of the author.
        name: Option<String>,
        text: String,
        /// Whether the text is Markdown; otherwise it is shown unchanged.
        markdown: bool,
        files: Vec<WebchatFile>,
        /// Rows of buttons.
        buttons: Vec<Vec<Button>>,
        /// In milliseconds since 1970.
        at: Timestamp,
    },
    /// The typing indicator.
    Typing {
        on: bool,
    },
    /// Text that an agent is writing. It is shown until the finished message
    /// replaces it or the draft is discarded.
    Delta {
        /// How many bytes of the draft precede the text; 0 begins a new draft.
        offset: usize,
        text: String,
    },
    DraftDiscarded,
    /// The conversation has ended; the next message begins another.
    Ended,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebchatAuthor {
    Visitor,
    Agent,
    /// A member of the org.
    Person,
    /// No person: an automatic notice.
    Notice,
}

/// A file of a message, which the page can open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebchatFile {
    pub url: String,
    pub name: Option<String>,
    pub media_type: MediaType,
    /// In bytes.
    pub size: u64,
}

impl WebchatEvent {
    /// Creates the event of a message. `url` returns the URL of a file.
    pub fn from_piece(
        piece: &MessagePiece,
        id: String,
        (from, name): (WebchatAuthor, Option<String>),
        at: Timestamp,
        url: impl Fn(&ostler_domain::message::Attachment) -> String,
    ) -> Self {
        let text = piece.text.as_ref();
        let formatted = text.and_then(|text| text.formatted.clone());
        let files = piece.files.iter().map(|file| WebchatFile {
            url: url(file),
            name: file.name.clone(),
            media_type: file.media_type.clone(),
            size: file.size,
        });
        Self::Message {
            id,
            from,
            name,
            markdown: formatted.is_some(),
            text: formatted.or(text.map(|text| text.plain.clone())).unwrap_or_default(),
            files: files.collect(),
            buttons: piece.buttons.clone(),
            at,
        }
    }
}
