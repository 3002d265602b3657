//! E-mail: sent by SMTP, received through the webhook of a mail gateway.

mod address;
mod authentication;
mod compose;
mod html_text;
mod mail;
mod quote;
mod receive;
mod smtp;

use ostler_domain::channel::delivery::UnknownOutcomePolicy;
use ostler_domain::secret::SecretRef;
use serde::Deserialize;

use self::address::Mailbox;
use crate::error::OpenError;
use crate::http::HttpLimits;
use crate::network::NetworkAccess;
use crate::outbound::{FilePlacement, Markup, MessagePiece, OutboundMessage, PieceLayout, pieces};
use crate::secret::ChannelSecret;
use crate::settings::InvalidSetting;
use crate::signature::SigningKeys;
use crate::text::HtmlDialect;

const LAYOUT: PieceLayout = PieceLayout {
    markup: Markup::Html(HtmlDialect::Email),
    max_length: None,
    files: FilePlacement::WithText,
    buttons: false,
};

/// The settings of a binding. Its secret is the password for the mail server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The sender: `Bella Pizza <ciao@bella.example>`.
    from: String,
    smtp: SmtpServer,
    /// The subject of a mail that is not a reply.
    #[serde(default)]
    subject: Option<String>,
    /// The keys that sign inbound mail.
    #[serde(default)]
    inbound_secret: Option<SecretRef>,
    /// The name under which the gateway reports in `Authentication-Results`, if it posts whole
    /// mails. It has to remove headers of others that carry this name.
    #[serde(default)]
    authserv_id: Option<String>,
    /// By default the message is sent again: receivers recognize a repeat by its id.
    #[serde(default)]
    when_unknown: Option<UnknownOutcomePolicy>,
}

impl Settings {
    fn parse(json: &str) -> Result<(Self, Mailbox), InvalidSetting> {
        let settings: Self = crate::settings::parse(json)?;
        let from = Mailbox::parse(&settings.from)
            .ok_or_else(|| InvalidSetting::new("from", "`from` is not an address"))?;
        Ok((settings, from))
    }
}

/// Checks the settings of a binding.
pub(crate) fn check_settings(json: &str) -> Result<(), InvalidSetting> {
    Settings::parse(json).map(drop)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SmtpServer {
    host: String,
    #[serde(default)]
    port: Option<u16>,
    #[serde(default)]
    security: SmtpSecurity,
    #[serde(default)]
    username: Option<String>,
}

/// How the connection to the mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SmtpSecurity {
    /// TLS from the start.
    #[default]
    Tls,
    /// STARTTLS, which is required: there is no fallback to plain text.
    StartTls,
    /// No encryption. A password is then sent only to the same machine.
    None,
}

impl SmtpSecurity {
    const fn default_port(self) -> u16 {
        match self {
            Self::Tls => 465,
            Self::StartTls => 587,
            Self::None => 25,
        }
    }
}

/// A binding to a mailbox.
#[derive(Debug, Clone)]
pub struct Email {
    limits: HttpLimits,
    network: NetworkAccess,
    from: Mailbox,
    subject: String,
    server: SmtpServer,
    password: Option<ChannelSecret>,
    inbound_keys: Option<SigningKeys>,
    authserv_id: Option<String>,
    pub(crate) unknown_outcome: UnknownOutcomePolicy,
}

impl Email {
    pub(crate) fn open(
        limits: HttpLimits,
        network: NetworkAccess,
        settings: &str,
        secret: Option<&SecretRef>,
        read_secret: impl Fn(&SecretRef) -> Result<ChannelSecret, OpenError>,
    ) -> Result<Self, OpenError> {
        let channel = || "email".to_owned();
        let invalid = |invalid: InvalidSetting| OpenError::invalid_settings("email", &invalid);
        let (settings, from) = Settings::parse(settings).map_err(invalid)?;
        let name = from.name.clone().unwrap_or_else(|| from.address.to_string());
        let server = settings.smtp;
        let is_local = ["localhost", "127.0.0.1", "::1"].contains(&server.host.as_str());
        let password = match (&server.username, secret) {
            (None, _) => None,
            (Some(_), None) => {
                let expected = "the password for the mail server";
                return Err(OpenError::MissingSecret { channel: channel(), expected });
            }
            (Some(_), Some(_)) if server.security == SmtpSecurity::None && !is_local => {
                let reason = "a password is not sent without TLS; set `smtp.security`";
                return Err(invalid(InvalidSetting::new("", reason)));
            }
            (Some(_), Some(location)) => Some(read_secret(location)?),
        };
        let keys = |location: &SecretRef| {
            let expected = "one or more keys of the form whsec_…, separated by white space";
            let keys = SigningKeys::parse(&read_secret(location)?);
            keys.ok_or_else(|| OpenError::InvalidSecret { channel: channel(), expected })
        };
        let inbound_keys = settings.inbound_secret.as_ref().map(keys).transpose()?;
        let subject = settings.subject.unwrap_or_else(|| format!("A message from {name}"));
        let unknown_outcome = settings.when_unknown.unwrap_or(UnknownOutcomePolicy::Resend);
        Ok(Self {
            limits,
            network,
            from,
            subject,
            server,
            password,
            inbound_keys,
            authserv_id: settings.authserv_id,
            unknown_outcome,
        })
    }

    /// Returns the message as a single piece.
    pub(crate) fn pieces(&self, message: &OutboundMessage) -> Vec<MessagePiece> {
        pieces(message, &LAYOUT)
    }
}
