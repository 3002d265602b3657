//! Inbound messages, in the same form for all channels.
//!
//! A request is authenticated before it is parsed, and ends as an [`InboundMessage`],
//! as ignored with an [`IgnoreReason`], or as a [`ReceiveError`].
//!
//! [`ReceiveError`]: crate::error::ReceiveError

use bytes::Bytes;
use ostler_domain::contact::SenderProof;
use ostler_domain::message::{MAX_BLOB_BYTES, MediaType};
use ostler_domain::session::key::Peer;
use serde::{Deserialize, Serialize};

use crate::email_thread::EmailThread;

/// The result of parsing a request or an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiveOutcome {
    Message(Box<InboundMessage>),
    Ignored(IgnoreReason),
}

/// Why a request or an update is ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreReason {
    #[error("it is an edit of an earlier message")]
    Edited,
    #[error("it is from a bot")]
    FromBot,
    #[error("it is a command for another bot")]
    ForAnotherBot,
    #[error("it is an automatic reply")]
    AutoReply,
    /// The mail failed DMARC.
    #[error("its sender is forged")]
    Forged,
    #[error("it was sent by this binding")]
    OwnMessage,
    #[error("it is empty")]
    Empty,
    #[error("`{0}` is not supported")]
    UnsupportedKind(String),
}

/// A message, command, button press or membership change of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboundMessage {
    /// The id of the delivery, the same when the provider repeats it. Unique within
    /// the binding.
    pub id: String,
    pub from: Sender,
    /// The person or group to which replies go.
    pub peer: Peer,
    /// The provider's id of the message, which replies refer to.
    pub message_id: Option<String>,
    /// The provider's id of the message that this one replies to.
    pub reply_to: Option<String>,
    pub email_thread: Option<EmailThread>,
    pub content: InboundContent,
}

/// The sender of a message, as the channel knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The channel's id of the person, in the form in which ids are compared.
    pub identifier: String,
    /// The display name.
    pub name: Option<String>,
    pub locale: Option<String>,
    /// Whether the channel proves that this person sent it.
    #[serde(default)]
    pub proof: SenderProof,
}

/// The content of an inbound message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboundContent {
    Message(Vec<InboundPart>),
    /// A command to the bot, such as `/start` with the payload of a deep link.
    Command {
        /// Without the slash, in lower case.
        name: String,
        /// The text after the command.
        payload: Option<String>,
    },
    /// A button was pressed.
    Press {
        /// The data of the button.
        data: String,
        /// The id to acknowledge the press with, if the provider expects that.
        callback_id: Option<String>,
    },
    /// Somebody joined or left a group.
    Membership {
        member: GroupMember,
        change: MembershipChange,
    },
}

/// A member who joined or left a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupMember {
    /// The org's own bot.
    Bot,
    Person(Sender),
}

/// What changed about a membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MembershipChange {
    Joined,
    Left,
}

/// A part of an inbound message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboundPart {
    Text(String),
    /// A file to fetch with [`ChannelConnection::fetch_file`].
    ///
    /// [`ChannelConnection::fetch_file`]: crate::connection::ChannelConnection::fetch_file
    File(RemoteFile),
    /// A text for the agent in place of something that was not accepted.
    Notice(String),
}

/// A file of an inbound message that is not fetched yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    pub source: FileSource,
    /// As the sender declares it.
    pub media_type: MediaType,
    pub name: Option<String>,
    /// In bytes, as the sender declares it.
    pub size: Option<u64>,
}

/// Where the bytes of a file are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// Included in the message.
    Inline(#[serde(with = "crate::encoding::base64_bytes")] Bytes),
    /// Telegram's file id.
    Telegram(String),
    /// A URL of the gateway.
    Url(String),
}

impl std::fmt::Debug for FileSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inline(bytes) => write!(f, "Inline({} bytes)", bytes.len()),
            Self::Telegram(id) => write!(f, "Telegram({id:?})"),
            Self::Url(url) => write!(f, "Url({url:?})"),
        }
    }
}

/// A file that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFile {
    pub bytes: Bytes,
    pub media_type: MediaType,
    pub name: Option<String>,
}

impl InboundPart {
    /// Returns a file, or a notice if its declared size is too large.
    pub(crate) fn file(file: RemoteFile) -> Self {
        let size = match &file.source {
            FileSource::Inline(bytes) => Some(bytes.len() as u64),
            FileSource::Telegram(_) | FileSource::Url(_) => file.size,
        };
        match size {
            Some(size) if size > MAX_BLOB_BYTES as u64 => {
                Self::Notice(file_too_large_notice(file.name.as_deref()))
            }
            _ => Self::File(file),
        }
    }
}

/// Returns the notice in place of a file that is too large.
pub fn file_too_large_notice(name: Option<&str>) -> String {
    let limit = MAX_BLOB_BYTES / 1024 / 1024;
    match name {
        Some(name) => format!("(The file {name} is larger than {limit} MiB and was not accepted.)"),
        None => format!("(A file is larger than {limit} MiB and was not accepted.)"),
    }
}

/// Returns a text part with `\n` as line breaks, or `None` for an empty text.
pub(crate) fn text_part(text: &str) -> Option<InboundPart> {
    let text = text.trim();
    (!text.is_empty()).then(|| InboundPart::Text(text.replace("\r\n", "\n")))
}
