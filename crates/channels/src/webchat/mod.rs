//! The web chat: its wire types, the tokens of visitors, and the script that pages
//! embed.
//!
//! Nothing is sent to the page: a message is delivered once it is stored, and the
//! page reads it from the events of the conversation.

mod receive;
mod token;
mod wire;

use ostler_domain::id::BindingId;
use serde::Deserialize;

pub use token::Visitor;
pub use wire::{
    StreamTicketResponse, UploadedFile, VisitorMessage, VisitorTokenRequest, VisitorTokenResponse,
    WebchatAuthor, WebchatEvent, WebchatFile,
};

use crate::error::OpenError;
use crate::outbound::{FilePlacement, Markup, MessagePiece, OutboundMessage, PieceLayout, pieces};
use crate::secret::ChannelSecret;
use crate::settings::InvalidSetting;

/// The script that pages embed. It has no dependencies.
pub const WIDGET: &str = include_str!("widget.js");

/// The minimum length of the secret that signs tokens.
const MIN_SECRET_BYTES: usize = 32;

const LAYOUT: PieceLayout = PieceLayout {
    markup: Markup::Markdown,
    max_length: None,
    files: FilePlacement::WithText,
    buttons: true,
};

/// The settings of a binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The origins of pages that may embed the chat, besides the server's own.
    #[serde(default)]
    origins: Vec<String>,
    /// The first words on the chat's own page.
    #[serde(default)]
    greeting: Option<String>,
    /// The colour of the chat's own page, such as `#0a7` or `#00aa77`.
    #[serde(default)]
    color: Option<String>,
}

const MAX_GREETING_CHARS: usize = 500;

/// How the chat's own page looks. Pages that embed the chat say so in their snippet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Appearance {
    pub greeting: String,
    /// A hexadecimal colour, or empty for the default.
    pub color: String,
}

impl Settings {
    fn parse(json: &str) -> Result<(Vec<url::Origin>, Appearance), InvalidSetting> {
        let settings: Self = crate::settings::parse(json)?;
        let origin = |text: &String| crate::settings::parse_http_url(text).map(|url| url.origin());
        let origins = settings.origins.iter().map(origin).collect::<Result<_, _>>();
        let origins = origins.map_err(|reason| InvalidSetting::new("origins", reason))?;
        Ok((origins, settings.appearance()?))
    }

    fn appearance(&self) -> Result<Appearance, InvalidSetting> {
        let greeting = self.greeting.clone().unwrap_or_default();
        if greeting.chars().count() > MAX_GREETING_CHARS {
            let reason = format!("`greeting` has at most {MAX_GREETING_CHARS} characters");
            return Err(InvalidSetting::new("greeting", reason));
        }
        let color = self.color.clone().unwrap_or_default();
        let digits = color.strip_prefix('#').unwrap_or_default();
        let is_color =
            matches!(digits.len(), 3 | 6) && digits.chars().all(|c| c.is_ascii_hexdigit());
        if color.is_empty() || is_color {
            Ok(Appearance { greeting, color })
        } else {
            let reason = format!("`color` is `{color}`; write it like #0a7 or #00aa77");
            Err(InvalidSetting::new("color", reason))
        }
    }
}

/// Checks the settings of a binding.
pub(crate) fn check_settings(json: &str) -> Result<(), InvalidSetting> {
    Settings::parse(json).map(drop)
}

/// A binding to the web chat.
#[derive(Debug, Clone)]
pub struct Webchat {
    binding: BindingId,
    origins: Vec<url::Origin>,
    appearance: Appearance,
    /// The first signs, each is accepted.
    secrets: Vec<ChannelSecret>,
}

impl Webchat {
    pub(crate) fn open(
        binding: BindingId,
        settings: &str,
        secret: impl FnOnce() -> Result<ChannelSecret, OpenError>,
    ) -> Result<Self, OpenError> {
        let (origins, appearance) = Settings::parse(settings)
            .map_err(|invalid| OpenError::invalid_settings("webchat", &invalid))?;
        let secret = secret()?;
        let secrets: Vec<_> = secret.expose().split_whitespace().map(ChannelSecret::new).collect();
        let is_short = |secret: &ChannelSecret| secret.expose().len() < MIN_SECRET_BYTES;
        if secrets.is_empty() || secrets.iter().any(is_short) {
            let expected = "a random text of at least 32 characters, or several such";
            return Err(OpenError::InvalidSecret { channel: "webchat".into(), expected });
        }
        Ok(Self { binding, origins, appearance, secrets })
    }

    /// Returns how the chat's own page looks.
    pub const fn appearance(&self) -> &Appearance {
        &self.appearance
    }

    /// Returns whether pages of an origin may embed the chat: those of the settings, and those
    /// of the server's own hosts, such as `chat.example:8080`.
    pub fn allows_origin(&self, origin: &str, own_hosts: &[&str]) -> bool {
        let Ok(url) = crate::settings::parse_http_url(origin) else { return false };
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        };
        let is_own = own_hosts.iter().any(|own| own.eq_ignore_ascii_case(&host));
        is_own || self.origins.contains(&url.origin())
    }

    pub(crate) fn pieces(&self, message: &OutboundMessage) -> Vec<MessagePiece> {
        pieces(message, &LAYOUT)
    }
}
