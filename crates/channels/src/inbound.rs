//! What comes in, in the words that all channels share.

use bytes::Bytes;
use ostler_domain::message::{MAX_BLOB_BYTES, MediaType};
use ostler_domain::session::key::Peer;
use serde::{Deserialize, Serialize};

use crate::mail_thread::Thread;

/// What a request or an update came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// Something for the org.
    Inbound(Box<Inbound>),
    /// Nothing that anybody answers, and why.
    Ignored(Ignored),
}

/// Why something that came in is of no interest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    /// A message was changed after it was sent.
    #[error("a message was edited")]
    Edited,
    /// A program wrote it.
    #[error("a bot wrote it")]
    FromBot,
    /// It is a command for somebody else.
    #[error("it is a command for another bot")]
    ForAnotherBot,
    /// A mailbox answered by itself.
    #[error("it is an automatic reply")]
    AutoReply,
    /// The gateway found that somebody else wrote it.
    #[error("its sender is forged")]
    Forged,
    /// It is one of our own.
    #[error("it came from this binding itself")]
    Own,
    /// There is nothing in it.
    #[error("there is nothing in it")]
    Empty,
    /// It is of a kind that nobody reads here.
    #[error("`{0}` is not read")]
    Kind(String),
}

/// Something that a person sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    /// The provider's id of this delivery: a repeat has the same. It is unique
    /// within the binding.
    pub id: String,
    /// Who wrote.
    pub from: Writer,
    /// Where: with the person alone, or in a group.
    pub peer: Peer,
    /// What the provider calls the message, for whoever replies to it.
    pub message: Option<String>,
    /// The message that it replies to, as the provider calls it.
    pub reply_to: Option<String>,
    /// How an answer by e-mail finds its thread.
    pub thread: Option<Thread>,
    /// What was sent.
    pub content: Content,
}

/// Who wrote, as the channel knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// What the channel calls them.
    pub identifier: String,
    /// Their name on screens.
    pub name: Option<String>,
    /// Their language and region.
    pub locale: Option<String>,
}

/// What was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A message, part by part.
    Message(Vec<InboundPart>),
    /// A command to the bot, such as `/start` with the payload of a deep link.
    Command {
        /// Its name without the slash, in lower case.
        name: String,
        /// What follows it.
        payload: Option<String>,
    },
    /// A button was pressed.
    Press {
        /// What the button carries.
        data: String,
        /// What the provider wants to be answered, if anything.
        callback: Option<String>,
    },
    /// Somebody joined or left a group.
    Membership {
        /// Who.
        who: Member,
        /// What they did.
        change: Change,
    },
}

/// Who joined or left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Member {
    /// The org's bot itself.
    Bot,
    /// A person, as the channel calls them.
    Person(Writer),
}

/// What a member did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// They are there now.
    Joined,
    /// They are not any more.
    Left,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboundPart {
    /// Words.
    Text(String),
    /// A file that has to be fetched.
    File(RemoteFile),
    /// What could not be taken, in words for whoever answers.
    Notice(String),
}

/// A file where it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// Where its bytes are.
    pub source: Source,
    /// What it is said to be.
    pub media_type: MediaType,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// How long it is said to be.
    pub size: Option<u64>,
}

/// Where the bytes of a file are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// They came along.
    Inline(#[serde(with = "crate::encoding::bytes")] Bytes),
    /// Telegram has them under this id.
    Telegram(String),
    /// The gateway has them at this address.
    Url(String),
}

impl std::fmt::Debug for Source {
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
pub struct Fetched {
    /// Its bytes.
    pub bytes: Bytes,
    /// What it is.
    pub media_type: MediaType,
    /// Its name, if it has one.
    pub name: Option<String>,
}

impl InboundPart {
    /// A file, or a notice if it says itself that it is too large.
    pub(crate) fn file(file: RemoteFile) -> Self {
        let most = MAX_BLOB_BYTES as u64;
        let here = match &file.source {
            Source::Inline(bytes) => Some(bytes.len() as u64),
            Source::Telegram(_) | Source::Url(_) => file.size,
        };
        match here {
            Some(size) if size > most => Self::Notice(too_large(file.name.as_deref())),
            _ => Self::File(file),
        }
    }
}

/// What whoever answers is told of a file that is too large.
pub fn too_large(name: Option<&str>) -> String {
    let most = MAX_BLOB_BYTES / 1024 / 1024;
    match name {
        Some(name) => format!("(The file {name} was larger than {most} MiB and was not taken.)"),
        None => format!("(A file was larger than {most} MiB and was not taken.)"),
    }
}

/// Words as a part, with line breaks of one kind; none if there are none.
pub(crate) fn text_part(text: &str) -> Option<InboundPart> {
    let text = text.trim();
    (!text.is_empty()).then(|| InboundPart::Text(text.replace("\r\n", "\n")))
}
