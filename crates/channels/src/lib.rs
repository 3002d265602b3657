//! Channels: parse, verify, format and send messages.
//!
//! This crate owns the wire format of each channel in both directions. It never
//! stores anything, and never decides who answers (the runtime does) or whether a
//! send is retried ([`ostler_domain::channel::delivery`] does). The JSON that other
//! systems send and receive is described in `docs/CHANNELS.md`.
//!
//! | module | what it owns |
//! |---|---|
//! | [`connection`] | an open binding: one interface to every channel |
//! | [`inbound`] | inbound messages, in the same form for all channels |
//! | [`limits`] | the limits of inbound messages |
//! | [`outbound`] | outbound messages, and the pieces they are sent in |
//! | [`outcome`] | the outcome of a send |
//! | [`text`] | Markdown: parsing, splitting, rendering as HTML or plain text |
//! | [`signature`] | signatures of Standard Webhooks |
//! | `event_request` | an event of an org to one of its webhooks |
//! | [`telegram`], [`email`], [`webhook`], [`webchat`] | one channel each |
//!
//! A binding is opened for each use ([`Channels::open`]), without contacting
//! anyone, so that changed settings and rotated secrets take effect at once. A
//! channel with an unknown name is the generic webhook under that name.
//!
//! No error text contains an address or a secret, because Telegram's addresses
//! contain the bot's token.

pub mod button;
pub mod connection;
pub mod email;
pub mod email_thread;
mod encoding;
pub mod error;
mod event_request;
mod http;
pub mod inbound;
pub mod limits;
mod network;
pub mod outbound;
pub mod outcome;
pub mod secret;
mod settings;
pub mod signature;
pub mod telegram;
pub mod text;
pub mod webchat;
pub mod webhook;

use std::sync::Arc;

use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;
use ostler_http::HttpSetupError;

pub use crate::event_request::{EventRequest, EventResponse};
pub use crate::http::HttpLimits;
pub use crate::network::NetworkAccess;
pub use crate::settings::InvalidSetting;

use crate::connection::ChannelConnection;
use crate::email::Email;
use crate::error::OpenError;
use crate::http::HttpClient;
use crate::secret::{ChannelSecret, SecretReader};
use crate::telegram::Telegram;
use crate::webchat::Webchat;
use crate::webhook::Webhook;

/// A binding with the configuration that its channel needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingConfig {
    pub org: OrgId,
    pub binding: Binding,
    /// The settings of the channel, as JSON.
    pub settings: String,
    pub secret: Option<SecretRef>,
}

/// Checks the settings of a channel, JSON, as far as it needs neither a secret nor the network.
pub fn check_settings(channel: &Channel, settings: &str) -> Result<(), InvalidSetting> {
    match channel {
        Channel::Telegram => telegram::check_settings(settings),
        Channel::Email => email::check_settings(settings),
        Channel::Webchat => webchat::check_settings(settings),
        Channel::Sms | Channel::Whatsapp | Channel::Webhook | Channel::Named(_) => {
            webhook::check_settings(settings)
        }
    }
}

/// Opens bindings. Clones share one connection pool.
#[derive(Clone)]
pub struct Channels {
    http: HttpClient,
    read_secret: Arc<SecretReader>,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").field("limits", &self.http.limits).finish_non_exhaustive()
    }
}

impl Channels {
    /// Creates the HTTP client for all bindings. `network` limits the hosts that
    /// settings may name; `read_secret` reads the secrets of bindings.
    pub fn new(
        limits: HttpLimits,
        network: NetworkAccess,
        read_secret: impl Fn(OrgId, &SecretRef) -> Result<ChannelSecret, String> + Send + Sync + 'static,
    ) -> Result<Self, HttpSetupError> {
        Ok(Self { http: HttpClient::new(limits, network)?, read_secret: Arc::new(read_secret) })
    }

    /// Opens a binding. This is cheap and contacts no provider, so bindings are
    /// opened for each use and changes take effect at once. Fails if the settings
    /// or the secret cannot be used.
    pub fn open(&self, config: &BindingConfig) -> Result<ChannelConnection, OpenError> {
        let Binding { id, channel, .. } = &config.binding;
        let read_secret = |location: &SecretRef| {
            (self.read_secret)(config.org, location).map_err(|reason| {
                let location = location.clone();
                OpenError::UnreadableSecret { channel: channel.to_string(), location, reason }
            })
        };
        // Each channel reads the secret after it has checked the settings.
        let required = |expected: &'static str| {
            move || match &config.secret {
                Some(location) => read_secret(location),
                None => Err(OpenError::MissingSecret { channel: channel.to_string(), expected }),
            }
        };
        let (http, settings) = (self.http.clone(), config.settings.as_str());
        Ok(match channel {
            Channel::Telegram => {
                let token = required("the bot's token from @BotFather");
                ChannelConnection::Telegram(Telegram::open(http, *id, settings, token)?)
            }
            Channel::Email => {
                let password = config.secret.as_ref();
                let email =
                    Email::open(http.limits, http.network, settings, password, read_secret)?;
                ChannelConnection::Email(Box::new(email))
            }
            Channel::Webchat => {
                let secret = required("a random text of at least 32 characters");
                ChannelConnection::Webchat(Webchat::open(*id, settings, secret)?)
            }
            Channel::Sms | Channel::Whatsapp | Channel::Webhook | Channel::Named(_) => {
                let secret = required("a key of the form whsec_…");
                ChannelConnection::Webhook(Webhook::open(http, channel.clone(), settings, secret)?)
            }
        })
    }
}
