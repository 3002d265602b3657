//! What people do with sessions besides answering: looking after them, notes, what they have
//! read, canned replies, and searching messages.

use ostler_domain::id::{NoteId, UserId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::{Author, Message, Session};

/// A session in a list, as the caller sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedSession {
    #[serde(flatten)]
    pub session: Session,
    /// Who looks after it.
    pub assignee: Option<UserId>,
    pub notes: u32,
    /// How many messages the caller has not read; 0 if the session is closed.
    pub unread: u32,
    pub last_message: Option<MessagePreview>,
}

/// The beginning of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessagePreview {
    pub at: Timestamp,
    pub author: Author,
    pub text: String,
}

/// Who has a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionHolder {
    Agent,
    /// Nobody yet: a person was asked for.
    Waiting,
    Person,
    /// It is closed.
    Nobody,
}

/// Who looks after a session, its notes, and the replies that can be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionWork {
    pub assignee: Option<UserId>,
    pub assigned_by: Option<UserId>,
    pub assigned_at: Option<Timestamp>,
    pub unread: u32,
    /// The newest notes, oldest first. Neither the customer nor an agent reads them.
    pub notes: Vec<SessionNote>,
    pub canned_replies: Vec<CannedReply>,
}

/// A note of a person about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionNote {
    pub id: NoteId,
    pub author: UserId,
    pub text: String,
    pub created_at: Timestamp,
}

/// A reply that people send often, with the name of the customer filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CannedReply {
    pub name: String,
    pub text: String,
}

/// Body of `PUT sessions/ID/assignee`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssigneeRequest {
    /// `me`, an e-mail address, an id or a name.
    pub person: String,
}

/// Response to `PUT sessions/ID/assignee`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssigneeResponse {
    pub assignee: UserId,
}

/// Body of `POST sessions/ID/notes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteRequest {
    pub text: String,
}

/// Response to `POST sessions/ID/notes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteResponse {
    pub id: NoteId,
}

/// Body of `PUT sessions/ID/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadRequest {
    /// The position of the last message that was read; without it, all were.
    #[serde(default)]
    pub up_to: Option<i64>,
}

/// A message that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundMessage {
    pub session: Session,
    /// The position of the message.
    pub seq: i64,
    pub message: Message,
    /// A part of the text, around a searched word.
    pub excerpt: String,
}
