//! Step 6: the conversation so far, as a model reads it.

use ostler_domain::channel::Channel;
use ostler_domain::id::ThreadId;
use ostler_domain::message::{Attachment, Part};
use ostler_domain::tool::Trust;
use ostler_engine::history::{Content, Item, Media};
use ostler_store::StoredMessage;

use super::case::Case;
use super::worker::RunError;
use crate::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::talk::{Unreadable, read};

/// How many messages of the conversation are read.
pub(crate) const MESSAGES: u32 = 20;

/// The last messages of the conversation's newest session, oldest first.
pub(super) async fn so_far(case: &Case<'_>) -> Result<Vec<ThreadMessage>, RunError> {
    let Some(session) = &case.beginning.session else { return Ok(Vec::new()) };
    let last = case.beginning.last_message;
    if last == 0 {
        return Ok(Vec::new());
    }
    if let Some(known) = case.desk.threads.take(session.thread, last) {
        return Ok(known);
    }
    Ok(messages(&case.store().thread_so_far(session.thread, MESSAGES).await?)?)
}

/// Remembers what was said for the next turn.
pub(super) fn remember(
    case: &Case<'_>,
    thread: ThreadId,
    mut earlier: Vec<ThreadMessage>,
    said: Vec<ThreadMessage>,
) {
    let goes_on = case.beginning.session.as_ref().is_some_and(|one| one.thread == thread);
    let before = if goes_on { case.beginning.last_message } else { 0 };
    // A run that was taken up again may have come to another session than before.
    if earlier.len() as i64 != before.min(i64::from(MESSAGES)) {
        return;
    }
    let last = before + said.len() as i64;
    earlier.extend(said);
    earlier.drain(..earlier.len().saturating_sub(MESSAGES as usize));
    case.desk.threads.bring(thread, last, earlier);
}

/// The messages, oldest first.
pub(crate) fn messages(stored: &[StoredMessage]) -> Result<Vec<ThreadMessage>, Unreadable> {
    stored.iter().map(|one| read("message", &one.data)).collect()
}

/// The messages as a model reads them.
pub(crate) fn items(messages: &[ThreadMessage]) -> Vec<Item> {
    let mut items = Vec::with_capacity(messages.len());
    for message in messages {
        match &message.author {
            MessageAuthor::Customer { .. } => {
                items.push(Item::User { content: content(&message.parts) });
            }
            MessageAuthor::Agent { .. } => {
                items.extend(message.work.iter().cloned());
                say(&mut items, message.text().into_owned());
            }
            MessageAuthor::Human { .. } => {
                say(&mut items, format!("[a colleague, in person] {}", message.text()));
            }
            MessageAuthor::System if message.purpose == Purpose::Notice => {}
            MessageAuthor::System => say(&mut items, message.text().into_owned()),
        }
    }
    items
}

/// Whether anything in a conversation is from outside: what a tool brought from
/// there, a customer's picture or file, or mail, which anybody can write in any name.
pub(crate) fn trust(channel: &Channel, history: &[Item]) -> Trust {
    let outside = |item: &Item| match item {
        Item::User { content } => content.iter().any(|one| one.media().is_some()),
        Item::Results { results } => {
            results.iter().any(|result| result.outcome.trust == Trust::Untrusted)
        }
        Item::Assistant { .. } => false,
    };
    if *channel == Channel::Email || history.iter().any(outside) {
        Trust::Untrusted
    } else {
        Trust::Trusted
    }
}

fn say(items: &mut Vec<Item>, text: String) {
    if !text.trim().is_empty() {
        items.push(Item::assistant(text));
    }
}

/// What somebody wrote, as a model takes it: words, and all else by reference.
pub(super) fn content(parts: &[Part]) -> Vec<Content> {
    let each = parts.iter().map(|part| match part {
        Part::Text { text } => Content::text(text.clone()),
        Part::Image(picture) => Content::Image(media(picture)),
        Part::Audio(sound) => Content::Audio(media(sound)),
        Part::File(file) => Content::File(media(file)),
        Part::Unknown => Content::text("[something that cannot be shown]"),
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
