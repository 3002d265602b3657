//! An open binding: one interface to every channel.

use http::HeaderMap;
use ostler_domain::channel::delivery::UnknownOutcomePolicy;
use ostler_domain::time::Timestamp;

use crate::email::Email;
use crate::error::{CallError, ReceiveError};
use crate::inbound::{FetchedFile, FileSource, ReceiveOutcome, RemoteFile};
use crate::outbound::{FileContents, MessagePiece, OutboundMessage, SendContext};
use crate::outcome::SendOutcome;
use crate::telegram::Telegram;
use crate::webchat::Webchat;
use crate::webhook::Webhook;

/// The maximum size of an inbound request: the largest allowed file in base 64,
/// and some text.
pub const MAX_BODY_BYTES: usize = 30 * 1024 * 1024;

/// An open binding.
#[derive(Debug, Clone)]
pub enum ChannelConnection {
    Telegram(Telegram),
    Email(Box<Email>),
    Webhook(Webhook),
    Webchat(Webchat),
}

impl ChannelConnection {
    /// Checks what the headers alone tell about an inbound request, before its body is read:
    /// a signature of now, the secret of the webhook, or the visitor's token. Whether the
    /// signature is that of the body is checked by [`Self::receive`].
    pub fn check_headers(&self, headers: &HeaderMap, now: Timestamp) -> Result<(), ReceiveError> {
        match self {
            Self::Telegram(bot) => bot.check_headers(headers),
            Self::Email(mailbox) => mailbox.check_headers(headers, now),
            Self::Webhook(gateway) => gateway.check_headers(headers, now),
            Self::Webchat(chat) => chat.visitor_of(headers, now).map(drop),
        }
    }

    /// Authenticates and parses an inbound request, within [`crate::limits`]. `now` is
    /// compared with the time of the signature. Parsing takes a while for a large body.
    pub fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ReceiveOutcome, ReceiveError> {
        if body.len() > MAX_BODY_BYTES {
            return Err(ReceiveError::TooLarge(MAX_BODY_BYTES));
        }
        let outcome = match self {
            Self::Telegram(bot) => bot.receive(headers, body),
            Self::Email(mailbox) => mailbox.receive(headers, body, now),
            Self::Webhook(gateway) => gateway.receive(headers, body, now),
            Self::Webchat(chat) => chat.receive(headers, body, now),
        }?;
        Ok(match outcome {
            ReceiveOutcome::Message(message) => {
                ReceiveOutcome::Message(Box::new(message.within_limits()?))
            }
            ignored @ ReceiveOutcome::Ignored(_) => ignored,
        })
    }

    /// Contacts the provider without sending a message, as far as that is possible. Returns
    /// what it found, or why messages cannot be sent, each in words.
    pub async fn check(&self) -> Result<String, String> {
        match self {
            Self::Telegram(bot) => {
                let name = bot.fetch_username().await.map_err(|error| error.to_string())?;
                Ok(format!("Telegram knows the bot as @{name}"))
            }
            Self::Email(mailbox) => mailbox.check().await,
            Self::Webhook(_) => {
                Ok("the settings and the secret can be used; send a test message to see whether \
                    the other side takes it"
                    .to_owned())
            }
            Self::Webchat(_) => Ok("visitors can write on the page of the chat".to_owned()),
        }
    }

    /// Splits a message into the pieces that are sent one by one. The same message
    /// always has the same pieces.
    pub fn pieces(&self, message: &OutboundMessage) -> Vec<MessagePiece> {
        match self {
            Self::Telegram(bot) => bot.pieces(message),
            Self::Email(mailbox) => mailbox.pieces(message),
            Self::Webhook(gateway) => gateway.pieces(message),
            Self::Webchat(chat) => chat.pieces(message),
        }
    }

    /// Sends a piece once. The caller decides whether to retry.
    pub async fn send(
        &self,
        piece: &MessagePiece,
        context: SendContext<'_>,
        files: &FileContents,
        now: Timestamp,
    ) -> SendOutcome {
        match self {
            Self::Telegram(bot) => bot.send(piece, context, files).await,
            Self::Email(mailbox) => mailbox.send(piece, context, files).await,
            Self::Webhook(gateway) => gateway.send(piece, context, files, now).await,
            // The page reads the message from the conversation, where it is stored.
            Self::Webchat(_) => {
                let id = format!("{}.{}", context.idempotency_key, piece.index);
                SendOutcome::Delivered { provider_id: Some(id) }
            }
        }
    }

    /// Returns what to do with a message whose delivery is uncertain.
    pub fn unknown_outcome_policy(&self) -> UnknownOutcomePolicy {
        match self {
            Self::Telegram(bot) => bot.unknown_outcome,
            Self::Email(mailbox) => mailbox.unknown_outcome,
            Self::Webhook(gateway) => gateway.unknown_outcome,
            // Nothing is sent, so a repeat does no harm.
            Self::Webchat(_) => UnknownOutcomePolicy::Resend,
        }
    }

    /// Shows a typing indicator. Does nothing on channels that have none.
    pub async fn show_typing(&self, to: &str) -> Result<(), CallError> {
        match self {
            Self::Telegram(bot) => bot.show_typing(to).await,
            Self::Email(_) | Self::Webhook(_) | Self::Webchat(_) => Ok(()),
        }
    }

    /// Acknowledges a button press with a short text. Does nothing on channels that
    /// expect no acknowledgement.
    pub async fn answer_button_press(
        &self,
        callback_id: &str,
        text: &str,
    ) -> Result<(), CallError> {
        match self {
            Self::Telegram(bot) => bot.answer_button_press(callback_id, text).await,
            Self::Email(_) | Self::Webhook(_) | Self::Webchat(_) => Ok(()),
        }
    }

    /// Fetches a file of an inbound message. Fails if it is too large, or if it
    /// belongs to another channel.
    pub async fn fetch_file(&self, file: &RemoteFile) -> Result<FetchedFile, CallError> {
        let bytes = match (&file.source, self) {
            (FileSource::Inline(bytes), _) => bytes.clone(),
            (FileSource::Telegram(id), Self::Telegram(bot)) => bot.fetch_file(id).await?,
            (FileSource::Url(url), Self::Webhook(gateway)) => gateway.fetch_file(url).await?,
            (FileSource::Telegram(_) | FileSource::Url(_), _) => {
                return Err(CallError::Rejected("the file belongs to another channel".into()));
            }
        };
        if bytes.len() > ostler_domain::message::MAX_BLOB_BYTES {
            return Err(CallError::TooLarge);
        }
        let (media_type, name) = (file.media_type.clone(), file.name.clone());
        Ok(FetchedFile { bytes, media_type, name })
    }
}
