//! Telegram's Bot API: updates by webhook or polling, and sending messages.
//!
//! This is our own client of ten methods, because client libraries do not give what
//! matters here: an unknown kind of update does not spoil its batch, an error never
//! contains the token (which is part of every address), and a send without a
//! response is not treated as failed.

mod api;
mod file;
mod poll;
mod send;
mod types;
mod update;
mod webhook;

use ostler_domain::channel::delivery::UnknownOutcomePolicy;
use ostler_domain::id::BindingId;
use serde::Deserialize;

pub use poll::{Poller, UpdateBatch, UpdateId};

use crate::error::{CallError, OpenError};
use crate::http::HttpClient;
use crate::outbound::{FilePlacement, Markup, MessagePiece, OutboundMessage, PieceLayout, pieces};
use crate::secret::ChannelSecret;
use crate::settings::{InvalidSetting, parse_base_url};
use crate::text::{HtmlDialect, LengthLimit, LengthUnit};

const DEFAULT_BASE_URL: &str = "https://api.telegram.org";

/// Telegram's limit is 4096; the rest is for the notice of a possible duplicate.
const MAX_LENGTH: LengthLimit = LengthLimit { unit: LengthUnit::Utf16, max: 4000 };

const LAYOUT: PieceLayout = PieceLayout {
    markup: Markup::Html(HtmlDialect::Telegram),
    max_length: Some(MAX_LENGTH),
    files: FilePlacement::Separate,
    buttons: true,
};

/// The settings of a binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The address of the Bot API, if it is not Telegram's own.
    #[serde(default)]
    base_url: Option<String>,
    /// The bot's name, so that commands for other bots are ignored.
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    when_unknown: UnknownOutcomePolicy,
    /// Whether to poll for updates; if it is missing, the server polls unless it
    /// has a public URL.
    #[serde(default)]
    polling: Option<bool>,
}

impl Settings {
    fn parse(json: &str) -> Result<(Self, String), InvalidSetting> {
        let settings: Self = crate::settings::parse(json)?;
        let base = parse_base_url(settings.base_url.as_deref().unwrap_or(DEFAULT_BASE_URL))
            .map_err(|reason| InvalidSetting::new("base_url", reason))?;
        Ok((settings, base))
    }
}

/// Checks the settings of a binding.
pub(crate) fn check_settings(json: &str) -> Result<(), InvalidSetting> {
    Settings::parse(json).map(drop)
}

/// A binding to a bot.
#[derive(Debug, Clone)]
pub struct Telegram {
    http: HttpClient,
    binding: BindingId,
    base: String,
    username: Option<String>,
    token: ChannelSecret,
    pub(crate) unknown_outcome: UnknownOutcomePolicy,
    polling: Option<bool>,
}

impl Telegram {
    pub(crate) fn open(
        http: HttpClient,
        binding: BindingId,
        settings: &str,
        token: impl FnOnce() -> Result<ChannelSecret, OpenError>,
    ) -> Result<Self, OpenError> {
        let (settings, base) = Settings::parse(settings)
            .map_err(|invalid| OpenError::invalid_settings("telegram", &invalid))?;
        let token = token()?;
        // The token becomes part of a URL.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ":_-".contains(c);
        if token.expose().is_empty() || !token.expose().chars().all(is_plain) {
            let expected = "a bot's token from @BotFather";
            return Err(OpenError::InvalidSecret { channel: "telegram".into(), expected });
        }
        let (unknown_outcome, polling) = (settings.when_unknown, settings.polling);
        let username = settings.username.map(|name| name.trim_start_matches('@').to_lowercase());
        Ok(Self { http, binding, base, username, token, unknown_outcome, polling })
    }

    pub(crate) fn pieces(&self, message: &OutboundMessage) -> Vec<MessagePiece> {
        pieces(message, &LAYOUT)
    }

    /// Returns the setting `polling`.
    pub const fn polling(&self) -> Option<bool> {
        self.polling
    }

    /// Shows a typing indicator for a few seconds.
    pub async fn show_typing(&self, to: &str) -> Result<(), CallError> {
        let body = serde_json::json!({"chat_id": to, "action": "typing"});
        self.call_method("sendChatAction", &body).await.map(drop)
    }

    /// Acknowledges a button press and shows a short text to the person.
    pub async fn answer_button_press(
        &self,
        callback_id: &str,
        text: &str,
    ) -> Result<(), CallError> {
        let text: String = text.chars().take(200).collect();
        let body = serde_json::json!({"callback_query_id": callback_id, "text": text});
        self.call_method("answerCallbackQuery", &body).await.map(drop)
    }

    /// Fetches the name of the bot. Succeeds only if the token is valid.
    pub async fn fetch_username(&self) -> Result<String, CallError> {
        let me = self.call_method("getMe", &serde_json::json!({})).await?;
        Ok(me["username"].as_str().unwrap_or_default().to_owned())
    }
}
