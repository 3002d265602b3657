//! Replies of the runtime itself, which are no part of a conversation.

use ostler_channels::inbound::InboundMessage;
use ostler_channels::outbound::{FileContents, OutboundMessage, SendContext, TextFormat};
use ostler_domain::channel::Channel;
use ostler_domain::message::MessagePart;
use ostler_domain::time::Timestamp;

use super::{BindingContext, InboundOutcome};
use crate::channel_binding::peer_address;

/// Replies to a message at once. A failure is ignored. Nothing can be sent to the page of a web
/// chat: it gets the reply as the answer to its request.
pub(super) async fn reply(
    context: &BindingContext<'_>,
    inbound: &InboundMessage,
    text: &str,
    now: Timestamp,
) -> InboundOutcome {
    if context.bound.binding.channel == Channel::Webchat {
        return InboundOutcome::Replied(text.to_owned());
    }
    let message = OutboundMessage {
        to: peer_address(&inbound.peer).to_owned(),
        parts: vec![MessagePart::text(text)],
        text_format: TextFormat::Verbatim,
        buttons: Vec::new(),
        reply_to: inbound.message_id.clone(),
        email_thread: inbound.email_thread.clone(),
    };
    let how = SendContext {
        idempotency_key: &format!("reply-{}", inbound.id),
        plain_text: false,
        possible_duplicate: false,
        by_person: false,
    };
    for piece in context.connection.pieces(&message) {
        context.connection.send(&piece, how, &FileContents::new(), now).await;
    }
    InboundOutcome::Done
}
