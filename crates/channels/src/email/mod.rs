//! E-mail: out by SMTP, in through a webhook of whoever takes mail for the org.

mod address;
mod compose;
mod mail;
mod quote;
mod receive;
mod smtp;

use ostler_domain::channel::delivery::WhenUnknown;
use ostler_domain::secret::SecretRef;
use serde::Deserialize;

use self::address::Mailbox;
use crate::error::OpenError;
use crate::http::Limits;
use crate::outbound::{FilesGo, Format, Outbound, Piece, Shape, pieces};
use crate::reach::Reach;
use crate::secret::Secret;
use crate::signature::Keys;
use crate::text::Html;

const SHAPE: Shape =
    Shape { format: Format::Html(Html::Mail), length: None, files: FilesGo::Along, buttons: false };

/// The settings of a binding. Its secret is the password of the server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Who writes: `Bella Pizza <ciao@bella.example>`.
    from: String,
    /// The server that takes mail.
    smtp: Server,
    /// The subject of a mail that answers none.
    #[serde(default)]
    subject: Option<String>,
    /// Where the keys are kept by which mail that comes in is signed.
    #[serde(default)]
    inbound_secret: Option<SecretRef>,
    /// What to do when nobody knows whether a message was sent.
    #[serde(default)]
    when_unknown: WhenUnknown,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    host: String,
    #[serde(default)]
    port: Option<u16>,
    #[serde(default)]
    security: Security,
    #[serde(default)]
    username: Option<String>,
}

/// How the connection to the server is kept from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Security {
    /// From its first byte.
    #[default]
    Tls,
    /// From the moment that both sides have agreed to; it is never left out.
    StartTls,
    /// Not at all. A password then goes to this machine only.
    None,
}

impl Security {
    const fn usual_port(self) -> u16 {
        match self {
            Self::Tls => 465,
            Self::StartTls => 587,
            Self::None => 25,
        }
    }
}

/// A mailbox.
#[derive(Debug, Clone)]
pub struct Email {
    limits: Limits,
    reach: Reach,
    from: Mailbox,
    subject: String,
    server: Server,
    password: Option<Secret>,
    inbound: Option<Keys>,
    pub(crate) when_unknown: WhenUnknown,
}

impl Email {
    pub(crate) fn open(
        limits: Limits,
        reach: Reach,
        settings: &str,
        secret: Option<&SecretRef>,
        read: impl Fn(&SecretRef) -> Result<Secret, OpenError>,
    ) -> Result<Self, OpenError> {
        let channel = || "email".to_owned();
        let wrong = |why: &str| OpenError::Settings { channel: channel(), why: why.to_owned() };
        let settings: Settings = crate::settings::read(settings).map_err(|why| wrong(&why))?;
        let from = Mailbox::read(&settings.from).ok_or_else(|| wrong("`from` is no address"))?;
        let name = from.name.clone().unwrap_or_else(|| from.address.to_string());
        let server = settings.smtp;
        let here = ["localhost", "127.0.0.1", "::1"].contains(&server.host.as_str());
        let password = match (&server.username, secret) {
            (None, _) => None,
            (Some(_), None) => {
                let what = "the password of the mail server";
                return Err(OpenError::NoSecret { channel: channel(), what });
            }
            (Some(_), Some(_)) if server.security == Security::None && !here => {
                return Err(wrong("a password is not sent without TLS; set `security`"));
            }
            (Some(_), Some(at)) => Some(read(at)?),
        };
        let keys = |at: &SecretRef| {
            let what = "one or more keys of the form whsec_… with white space between them";
            let keys = Keys::read(&read(at)?);
            keys.ok_or_else(|| OpenError::BadSecret { channel: channel(), what })
        };
        let inbound = settings.inbound_secret.as_ref().map(keys).transpose()?;
        let subject = settings.subject.unwrap_or_else(|| format!("A message from {name}"));
        let when_unknown = settings.when_unknown;
        Ok(Self { limits, reach, from, subject, server, password, inbound, when_unknown })
    }

    /// The pieces that a message is sent in: always one.
    pub(crate) fn pieces(&self, message: &Outbound) -> Vec<Piece> {
        pieces(message, &SHAPE)
    }
}
