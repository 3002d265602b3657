//! A binding that is open: any channel, through the same few calls.

use http::HeaderMap;
use ostler_domain::channel::delivery::WhenUnknown;
use ostler_domain::time::Timestamp;

use crate::email::Email;
use crate::error::{CallError, ReceiveError};
use crate::inbound::{Fetched, Received, RemoteFile, Source};
use crate::outbound::{Files, Outbound, Piece, Sending};
use crate::outcome::Outcome;
use crate::telegram::Telegram;
use crate::webchat::Webchat;
use crate::webhook::Webhook;

/// The most bytes that are read of what comes in: a file of the greatest size as
/// base 64, and some words.
pub const MOST_BODY_BYTES: usize = 30 * 1024 * 1024;

/// A binding that is open.
#[derive(Debug, Clone)]
pub enum Connection {
    /// A bot.
    Telegram(Telegram),
    /// A mailbox.
    Email(Box<Email>),
    /// A gateway.
    Webhook(Webhook),
    /// A chat on a page.
    Webchat(Webchat),
}

impl Connection {
    /// Checks who brings something, and reads it. `now` is for signatures.
    pub fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Received, ReceiveError> {
        if body.len() > MOST_BODY_BYTES {
            return Err(ReceiveError::TooLarge(MOST_BODY_BYTES));
        }
        match self {
            Self::Telegram(bot) => bot.receive(headers, body),
            Self::Email(mailbox) => mailbox.receive(headers, body, now),
            Self::Webhook(gateway) => gateway.receive(headers, body, now),
            Self::Webchat(chat) => chat.receive(headers, body, now),
        }
    }

    /// The pieces that a message is sent in, in order. It is pure: the same
    /// message has the same pieces.
    pub fn pieces(&self, message: &Outbound) -> Vec<Piece> {
        match self {
            Self::Telegram(bot) => bot.pieces(message),
            Self::Email(mailbox) => mailbox.pieces(message),
            Self::Webhook(gateway) => gateway.pieces(message),
            Self::Webchat(chat) => chat.pieces(message),
        }
    }

    /// Sends a piece once. Whether it is tried again is not decided here.
    pub async fn send(
        &self,
        piece: &Piece,
        how: Sending<'_>,
        files: &Files,
        now: Timestamp,
    ) -> Outcome {
        match self {
            Self::Telegram(bot) => bot.send(piece, how, files).await,
            Self::Email(mailbox) => mailbox.send(piece, how, files).await,
            Self::Webhook(gateway) => gateway.send(piece, how, files, now).await,
            // The page reads it from where it is stored.
            Self::Webchat(_) => {
                Outcome::Delivered { provider_id: Some(format!("{}.{}", how.key, piece.number)) }
            }
        }
    }

    /// What the binding wants when nobody knows whether a message was sent.
    pub fn when_unknown(&self) -> WhenUnknown {
        match self {
            Self::Telegram(bot) => bot.when_unknown,
            Self::Email(mailbox) => mailbox.when_unknown,
            Self::Webhook(gateway) => gateway.when_unknown,
            Self::Webchat(_) => WhenUnknown::default(),
        }
    }

    /// Shows that somebody is writing, where a channel can.
    pub async fn typing(&self, to: &str) -> Result<(), CallError> {
        match self {
            Self::Telegram(bot) => bot.typing(to).await,
            Self::Email(_) | Self::Webhook(_) | Self::Webchat(_) => Ok(()),
        }
    }

    /// Answers a press, where a channel waits for it.
    pub async fn answer_press(&self, callback: &str, words: &str) -> Result<(), CallError> {
        match self {
            Self::Telegram(bot) => bot.answer_press(callback, words).await,
            Self::Email(_) | Self::Webhook(_) | Self::Webchat(_) => Ok(()),
        }
    }

    /// Fetches a file that came in.
    pub async fn fetch(&self, file: &RemoteFile) -> Result<Fetched, CallError> {
        let bytes = match (&file.source, self) {
            (Source::Inline(bytes), _) => bytes.clone(),
            (Source::Telegram(id), Self::Telegram(bot)) => bot.file(id).await?,
            (Source::Url(url), Self::Webhook(gateway)) => gateway.file(url).await?,
            (Source::Telegram(_) | Source::Url(_), _) => {
                return Err(CallError::Refused("the file came through another channel".into()));
            }
        };
        if bytes.len() > ostler_domain::message::MAX_BLOB_BYTES {
            return Err(CallError::TooLarge);
        }
        let (media_type, name) = (file.media_type.clone(), file.name.clone());
        Ok(Fetched { bytes, media_type, name })
    }
}
