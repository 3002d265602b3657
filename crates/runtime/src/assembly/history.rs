//! The messages of a conversation, as a model reads them.

use ostler_domain::channel::Channel;
use ostler_domain::message::{Attachment, MessagePart};
use ostler_domain::tool::Trust;
use ostler_engine::history::{Content, Item, Media};
use ostler_store::StoredMessage;

use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::records::{UnreadableRecord, decode};

/// How many messages of a conversation a model reads.
pub(crate) const HISTORY_MESSAGES: u32 = 20;

/// Decodes stored messages.
pub(crate) fn decode_messages(
    stored: &[StoredMessage],
) -> Result<Vec<ThreadMessage>, UnreadableRecord> {
    stored.iter().map(|one| decode("message", &one.data)).collect()
}

/// Converts messages of a thread into the history that a model reads.
pub(crate) fn history_items(messages: &[ThreadMessage]) -> Vec<Item> {
    let mut items = Vec::with_capacity(messages.len());
    for message in messages {
        match &message.author {
            MessageAuthor::Customer { .. } => {
                items.push(Item::User { content: message_content(&message.parts) });
            }
            MessageAuthor::Agent { .. } => {
                items.extend(message.work.iter().cloned());
                push_assistant(&mut items, message.text().into_owned());
            }
            MessageAuthor::Human { .. } => {
                push_assistant(&mut items, format!("[a colleague, in person] {}", message.text()));
            }
            MessageAuthor::System if message.purpose == Purpose::Notice => {}
            MessageAuthor::System => push_assistant(&mut items, message.text().into_owned()),
        }
    }
    items
}

/// Returns the trust of a history: untrusted if anything in it is from outside, which is a tool
/// result from there, a customer's file, or any mail; private if a tool result is.
pub(crate) fn history_trust(channel: &Channel, history: &[Item]) -> Trust {
    let trust_of = |item: &Item| match item {
        Item::User { content } if content.iter().any(|one| one.media().is_some()) => {
            Trust::Untrusted
        }
        Item::Results { results } => results
            .iter()
            .map(|result| result.outcome.trust)
            .fold(Trust::Trusted, Trust::after_reading),
        Item::User { .. } | Item::Assistant { .. } => Trust::Trusted,
    };
    let channel = if *channel == Channel::Email { Trust::Untrusted } else { Trust::Trusted };
    history.iter().map(trust_of).fold(channel, Trust::after_reading)
}

fn push_assistant(items: &mut Vec<Item>, text: String) {
    if !text.trim().is_empty() {
        items.push(Item::assistant(text));
    }
}

/// Converts the parts of a message into model input. Files are referenced by their blob
/// and loaded when the turn runs.
pub(crate) fn message_content(parts: &[MessagePart]) -> Vec<Content> {
    let each = parts.iter().map(|part| match part {
        MessagePart::Text { text } => Content::text(text.clone()),
        MessagePart::Image(picture) => Content::Image(media(picture)),
        MessagePart::Audio(sound) => Content::Audio(media(sound)),
        MessagePart::File(file) => Content::File(media(file)),
        MessagePart::Unknown => Content::text("[something that cannot be shown]"),
    });
    let content: Vec<Content> = each.collect();
    if content.is_empty() { vec![Content::text("[an empty message]")] } else { content }
}

fn media(of: &Attachment) -> Media {
    Media {
        blob: Some(of.blob),
        media_type: of.media_type.as_str().to_owned(),
        name: of.name.clone(),
        size: of.size,
        data: None,
    }
}
