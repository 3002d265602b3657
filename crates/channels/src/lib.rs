//! Channels: parse, verify, format, send.
//!
//! It owns the wire of each channel, in both directions. It never stores
//! anything, and never decides who answers or whether something is tried again:
//! the first is the runtime's, the second [`ostler_domain::channel::delivery`]'s.
//!
//! | module | what it owns |
//! |---|---|
//! | [`connection`] | a binding that is open: any channel, through the same few calls |
//! | [`inbound`] | what comes in, in the words that all channels share |
//! | [`outbound`] | a message on its way out, and the pieces it is sent in |
//! | [`outcome`] | what became of a send |
//! | [`text`] | Markdown read, cut and written as a channel reads it |
//! | [`signature`] | Standard Webhooks, both ways |
//! | [`telegram`], [`email`], [`webhook`], [`webchat`] | one channel each |

pub mod button;
pub mod connection;
pub mod email;
mod encoding;
pub mod error;
mod http;
pub mod inbound;
pub mod mail_thread;
pub mod outbound;
pub mod outcome;
mod reach;
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

pub use crate::http::{Limits, SetupError};
pub use crate::reach::Reach;

use crate::connection::Connection;
use crate::email::Email;
use crate::error::OpenError;
use crate::http::Http;
use crate::secret::{ReadSecret, Secret};
use crate::telegram::Telegram;
use crate::webchat::Webchat;
use crate::webhook::Webhook;

/// A binding with all that its channel needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingConfig {
    /// Whose it is.
    pub org: OrgId,
    /// The binding.
    pub binding: Binding,
    /// The settings of its channel, as JSON.
    pub settings: String,
    /// Where its secret is kept, if it has one.
    pub secret: Option<SecretRef>,
}

/// Opens bindings. A copy shares its connections.
#[derive(Clone)]
pub struct Channels {
    http: Http,
    read: Arc<ReadSecret>,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").field("limits", &self.http.limits).finish_non_exhaustive()
    }
}

impl Channels {
    /// Opens bindings within these limits, with secrets that `read` reads. Their
    /// settings lead as far as `reach` allows.
    pub fn new(
        limits: Limits,
        reach: Reach,
        read: impl Fn(OrgId, &SecretRef) -> Result<Secret, String> + Send + Sync + 'static,
    ) -> Result<Self, SetupError> {
        Ok(Self { http: Http::new(limits, reach)?, read: Arc::new(read) })
    }

    /// Opens a binding. It is cheap and contacts nobody, so it is done anew for
    /// each use: changed settings and rotated secrets count at once.
    pub fn open(&self, config: &BindingConfig) -> Result<Connection, OpenError> {
        let Binding { id, channel, .. } = &config.binding;
        let read = |at: &SecretRef| {
            (self.read)(config.org, at).map_err(|why| OpenError::Secret {
                channel: channel.to_string(),
                at: at.clone(),
                why,
            })
        };
        // It is read once the settings are known to be right.
        let needed = |what: &'static str| {
            move || match &config.secret {
                Some(at) => read(at),
                None => Err(OpenError::NoSecret { channel: channel.to_string(), what }),
            }
        };
        let (http, settings) = (self.http.clone(), config.settings.as_str());
        Ok(match channel {
            Channel::Telegram => {
                let token = needed("the token that @BotFather gave out");
                Connection::Telegram(Telegram::open(http, *id, settings, token)?)
            }
            Channel::Email => {
                let password = config.secret.as_ref();
                let email = Email::open(http.limits, http.reach, settings, password, read)?;
                Connection::Email(Box::new(email))
            }
            Channel::Webchat => {
                let secret = needed("a random text of at least 32 characters");
                Connection::Webchat(Webchat::open(*id, settings, secret)?)
            }
            Channel::Sms | Channel::Whatsapp | Channel::Webhook | Channel::Named(_) => {
                let secret = needed("a key of the form whsec_…");
                Connection::Webhook(Webhook::open(http, channel.clone(), settings, secret)?)
            }
        })
    }
}
