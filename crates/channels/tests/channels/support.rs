//! Helpers that open bindings and send messages.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use ostler_channels::connection::ChannelConnection;
use ostler_channels::outbound::{
    FileContents, MessagePiece, OutboundMessage, SendContext, TextFormat,
};
use ostler_channels::outcome::SendOutcome;
use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_channels::{BindingConfig, Channels, HttpLimits, NetworkAccess};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::secret::SecretRef;
use ostler_domain::time::Timestamp;
use serde_json::Value;

use crate::real_servers::with_timeout;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
pub(crate) const SEND: SendContext<'static> = SendContext {
    idempotency_key: "out_1",
    plain_text: false,
    possible_duplicate: false,
    by_person: false,
};

/// Returns a binding with a secret in `env:SECRET`.
pub(crate) fn config(channel: &str, settings: &Value) -> BindingConfig {
    let (id, channel) = (BindingId::from_u128(1), Channel::from(channel));
    BindingConfig {
        org: OrgId::from_u128(1),
        binding: Binding { id, name: String::new(), channel, enabled: true, priority: 1 },
        settings: settings.to_string(),
        secret: Some(SecretRef::Env("SECRET".into())),
    }
}

pub(crate) fn channels(secret: &str, limits: HttpLimits) -> Channels {
    let secret = secret.to_owned();
    Channels::new(limits, NetworkAccess::Unrestricted, move |_, _| Ok(ChannelSecret::new(&secret)))
        .unwrap()
}

pub(crate) fn open(channel: &str, settings: &Value, secret: &str) -> ChannelConnection {
    channels(secret, HttpLimits::default()).open(&config(channel, settings)).unwrap()
}

/// Opens a binding with a short timeout.
pub(crate) fn open_with_timeout(
    channel: &str,
    settings: &Value,
    secret: &str,
    timeout: Duration,
) -> ChannelConnection {
    let limits =
        HttpLimits { send_timeout: timeout, file_timeout: timeout, ..HttpLimits::default() };
    channels(secret, limits).open(&config(channel, settings)).unwrap()
}

pub(crate) fn message(to: &str, text: &str) -> OutboundMessage {
    OutboundMessage {
        to: to.into(),
        parts: vec![MessagePart::text(text)],
        text_format: TextFormat::Markdown,
        buttons: vec![],
        reply_to: None,
        email_thread: None,
    }
}

/// A key of Standard Webhooks.
pub(crate) const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub(crate) fn keys() -> SigningKeys {
    SigningKeys::parse(&ChannelSecret::new(KEY)).unwrap()
}

/// Returns headers that sign a body with [`KEY`].
pub(crate) fn signed(id: &str, body: &str) -> HeaderMap {
    let pair = |(name, value): (&'static str, String)| {
        (HeaderName::from_static(name), HeaderValue::from_str(&value).unwrap())
    };
    keys().sign(id, NOW, body.as_bytes()).into_iter().map(pair).collect()
}

/// Returns the only piece of a message.
pub(crate) fn piece(connection: &ChannelConnection, message: &OutboundMessage) -> MessagePiece {
    let mut pieces = connection.pieces(message);
    assert_eq!(pieces.len(), 1);
    pieces.remove(0)
}

pub(crate) async fn send(connection: &ChannelConnection, message: &OutboundMessage) -> SendOutcome {
    let piece = piece(connection, message);
    with_timeout(connection.send(&piece, SEND, &FileContents::new(), NOW)).await
}
