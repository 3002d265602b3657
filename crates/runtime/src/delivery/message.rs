//! What an outbox row is in the words of channels.

use ostler_channels::button::Button;
use ostler_channels::outbound::{Outbound, Writing};
use ostler_domain::channel::Channel;
use ostler_domain::session::key::Peer;
use ostler_store::Author;

use crate::talk::outgoing::Outgoing;

/// What the channel calls whom a message is for.
pub(crate) fn address(peer: &Peer) -> &str {
    match peer {
        Peer::Person(name) | Peer::Group(name) => name,
    }
}

/// A message for a channel. Agents write Markdown; what people write, and what
/// the runtime says of them, is shown as it is.
pub(super) fn outbound(outgoing: &Outgoing, author: Author, channel: &Channel) -> Outbound {
    let button = |one: &crate::talk::outgoing::Button| match Button::press(&one.label, &one.data) {
        Ok(button) => Some(button),
        Err(error) => {
            tracing::warn!(%error, label = one.label, "a button is left out");
            None
        }
    };
    let buttons: Vec<Button> = outgoing.buttons.iter().filter_map(button).collect();
    // A chat with one person need not quote each of their messages.
    let alone = *channel == Channel::Telegram && matches!(outgoing.to, Peer::Person(_));
    Outbound {
        to: address(&outgoing.to).to_owned(),
        parts: outgoing.parts.clone(),
        writing: match author {
            Author::Agent => Writing::Markdown,
            Author::Human | Author::System => Writing::Verbatim,
        },
        buttons: if buttons.is_empty() { Vec::new() } else { vec![buttons] },
        reply_to: outgoing.answers.clone().filter(|_| !alone),
        thread: outgoing.thread.clone(),
    }
}
