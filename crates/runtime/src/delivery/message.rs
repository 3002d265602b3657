//! Outbox entries in the form that channels take.

use ostler_channels::button::Button;
use ostler_channels::outbound::{OutboundMessage, TextFormat};
use ostler_domain::channel::Channel;
use ostler_domain::session::key::Peer;
use ostler_store::Author;

use crate::channel_binding::peer_address;
use crate::records::outgoing::OutgoingMessage;

/// Returns the message for a channel. Agents write Markdown; texts of people and of the
/// runtime are sent verbatim.
pub(super) fn outbound(
    outgoing: &OutgoingMessage,
    author: Author,
    channel: &Channel,
) -> OutboundMessage {
    let button =
        |one: &crate::records::outgoing::OutgoingButton| match Button::press(&one.label, &one.data)
        {
            Ok(button) => Some(button),
            Err(error) => {
                tracing::warn!(%error, label = one.label, "invalid button left out");
                None
            }
        };
    let buttons: Vec<Button> = outgoing.buttons.iter().filter_map(button).collect();
    // In a private chat a reply does not quote the message.
    let private_chat = *channel == Channel::Telegram && matches!(outgoing.to, Peer::Person(_));
    OutboundMessage {
        to: peer_address(&outgoing.to).to_owned(),
        parts: outgoing.parts.clone(),
        text_format: match author {
            Author::Agent | Author::Outreach => TextFormat::Markdown,
            Author::Human | Author::System | Author::Notice => TextFormat::Verbatim,
        },
        buttons: if buttons.is_empty() { Vec::new() } else { vec![buttons] },
        reply_to: outgoing.reply_to.clone().filter(|_| !private_chat),
        email_thread: outgoing.thread.clone(),
    }
}
