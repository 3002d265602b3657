//! Opening bindings, and messages to send.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use ostler_channels::connection::Connection;
use ostler_channels::outbound::{Files, Outbound, Piece, Sending, Writing};
use ostler_channels::outcome::Outcome;
use ostler_channels::secret::Secret;
use ostler_channels::signature::Keys;
use ostler_channels::{BindingConfig, Channels, Limits, Reach};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::message::Part;
use ostler_domain::secret::SecretRef;
use ostler_domain::time::Timestamp;
use serde_json::Value;

use crate::real::within;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
pub(crate) const HOW: Sending<'static> = Sending { key: "out_1", plain: false, again: false };

/// A binding whose secret is wherever the tests say.
pub(crate) fn config(channel: &str, settings: &Value) -> BindingConfig {
    let (id, channel) = (BindingId::from_u128(1), Channel::from(channel));
    BindingConfig {
        org: OrgId::from_u128(1),
        binding: Binding { id, channel, enabled: true, priority: 1 },
        settings: settings.to_string(),
        secret: Some(SecretRef::Env("SECRET".into())),
    }
}

pub(crate) fn channels(secret: &str, limits: Limits) -> Channels {
    let secret = secret.to_owned();
    Channels::new(limits, Reach::Anywhere, move |_, _| Ok(Secret::new(&secret))).unwrap()
}

pub(crate) fn open(channel: &str, settings: &Value, secret: &str) -> Connection {
    channels(secret, Limits::default()).open(&config(channel, settings)).unwrap()
}

/// The same, with a patience of this long.
pub(crate) fn open_hasty(
    channel: &str,
    settings: &Value,
    secret: &str,
    wait: Duration,
) -> Connection {
    let limits = Limits { send: wait, file: wait, ..Limits::default() };
    channels(secret, limits).open(&config(channel, settings)).unwrap()
}

pub(crate) fn message(to: &str, text: &str) -> Outbound {
    Outbound {
        to: to.into(),
        parts: vec![Part::text(text)],
        writing: Writing::Markdown,
        buttons: vec![],
        reply_to: None,
        thread: None,
    }
}

/// A key of Standard Webhooks.
pub(crate) const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub(crate) fn keys() -> Keys {
    Keys::read(&Secret::new(KEY)).unwrap()
}

/// The headers of a body that was signed by that key.
pub(crate) fn signed(id: &str, body: &str) -> HeaderMap {
    let pair = |(name, value): (&'static str, String)| {
        (HeaderName::from_static(name), HeaderValue::from_str(&value).unwrap())
    };
    keys().sign(id, NOW, body.as_bytes()).into_iter().map(pair).collect()
}

/// The one piece of a message.
pub(crate) fn piece(connection: &Connection, message: &Outbound) -> Piece {
    let mut pieces = connection.pieces(message);
    assert_eq!(pieces.len(), 1);
    pieces.remove(0)
}

pub(crate) async fn send(connection: &Connection, message: &Outbound) -> Outcome {
    let piece = piece(connection, message);
    within(connection.send(&piece, HOW, &Files::new(), NOW)).await
}
