//! What a page posts, and what it gets.

use bytes::Bytes;
use ostler_domain::message::MediaType;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::button::Button;
use crate::outbound::Piece;

/// What a page says before anything else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Who the visitor is, if the page's own server knows.
    #[serde(default)]
    pub email: Option<String>,
    /// What the page's own server signed.
    #[serde(default)]
    pub proof: Option<String>,
}

/// What a page is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// What the visitor shows from now on.
    pub token: String,
}

/// What a page posts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Post {
    /// The page's own id of it: a repeat has the same.
    pub id: String,
    /// Words.
    #[serde(default)]
    pub text: Option<String>,
    /// What a pressed button carries.
    #[serde(default)]
    pub press: Option<String>,
    /// Files.
    #[serde(default)]
    pub files: Vec<PostedFile>,
    /// The name that the visitor gives.
    #[serde(default)]
    pub name: Option<String>,
    /// The language of the page.
    #[serde(default)]
    pub locale: Option<String>,
}

/// A file that a visitor adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostedFile {
    /// Its name.
    pub name: String,
    /// What it is.
    pub media_type: MediaType,
    /// Its bytes, as base 64.
    #[serde(with = "crate::encoding::bytes")]
    pub content: Bytes,
}

/// What a page gets, as the data of a server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A message of the conversation, the visitor's own included.
    Message {
        /// Its id.
        id: String,
        /// Who wrote it.
        from: Speaker,
        /// The writer's name.
        name: Option<String>,
        /// Its words.
        text: String,
        /// Whether the words are Markdown; else they are shown as they are.
        markdown: bool,
        /// Its files.
        files: Vec<SharedFile>,
        /// Buttons below it.
        buttons: Vec<Vec<Button>>,
        /// When it was written, in milliseconds since 1970.
        at: Timestamp,
    },
    /// Somebody writes, or has stopped.
    Typing {
        /// Whether somebody writes.
        on: bool,
    },
    /// Words that an agent is writing. They are shown and never kept: the message
    /// that comes in the end takes their place, or nothing does.
    Delta {
        /// How many bytes of the draft came before; 0 begins a new one.
        offset: usize,
        /// The words.
        text: String,
    },
    /// What was being written is void.
    DraftDiscarded,
    /// The conversation is over; whoever writes begins another.
    Ended,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The visitor.
    Visitor,
    /// An agent.
    Agent,
    /// A person of the org.
    Person,
    /// Nobody: a notice.
    Notice,
}

/// A file that a page can open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFile {
    /// Where it is.
    pub url: String,
    /// Its name.
    pub name: Option<String>,
    /// What it is.
    pub media_type: MediaType,
    /// Its length in bytes.
    pub size: u64,
}

impl Event {
    /// A message as a page gets it. `url` says where a file of it can be read.
    pub fn message(
        piece: &Piece,
        id: String,
        (from, name): (Speaker, Option<String>),
        at: Timestamp,
        url: impl Fn(&ostler_domain::message::Attachment) -> String,
    ) -> Self {
        let words = piece.words.as_ref();
        let formatted = words.and_then(|words| words.formatted.clone());
        let files = piece.files.iter().map(|file| SharedFile {
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
            text: formatted.or(words.map(|words| words.plain.clone())).unwrap_or_default(),
            files: files.collect(),
            buttons: piece.buttons.clone(),
            at,
        }
    }
}
