//! Telegram's Bot API: updates by webhook or by asking, messages out.
//!
//! The client is our own. It calls ten methods; what matters is that an update of
//! a new kind does not spoil the others it came with, that an error never shows
//! the token, which is part of every address, and that a send whose answer did
//! not come is not taken for one that failed. Client libraries give none of these.

mod api;
mod file;
mod poll;
mod send;
mod types;
mod update;
mod webhook;

use ostler_domain::channel::delivery::WhenUnknown;
use ostler_domain::id::BindingId;
use serde::Deserialize;

pub use poll::{Batch, Poller, UpdateId};

use crate::error::{CallError, OpenError};
use crate::http::Http;
use crate::outbound::{FilesGo, Format, Outbound, Piece, Shape, pieces};
use crate::secret::Secret;
use crate::settings::base_url;
use crate::text::{Html, Length, Unit};

/// Where Telegram's own API is.
const API: &str = "https://api.telegram.org";

/// Telegram takes 4096; the rest is for a word about repetition.
const LENGTH: Length = Length { unit: Unit::Utf16, most: 4000 };

const SHAPE: Shape = Shape {
    format: Format::Html(Html::Telegram),
    length: Some(LENGTH),
    files: FilesGo::Apart,
    buttons: true,
};

/// The settings of a binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where the API is, if not at Telegram's own.
    #[serde(default)]
    base_url: Option<String>,
    /// The bot's name without `@`, so that commands for others are left alone.
    #[serde(default)]
    username: Option<String>,
    /// What to do when nobody knows whether a message was sent.
    #[serde(default)]
    when_unknown: WhenUnknown,
    /// Whether Telegram is asked for updates; if it is not said, it is where this
    /// server has no address on the web.
    #[serde(default)]
    polling: Option<bool>,
}

/// A bot.
#[derive(Debug, Clone)]
pub struct Telegram {
    http: Http,
    binding: BindingId,
    base: String,
    username: Option<String>,
    token: Secret,
    pub(crate) when_unknown: WhenUnknown,
    polling: Option<bool>,
}

impl Telegram {
    pub(crate) fn open(
        http: Http,
        binding: BindingId,
        settings: &str,
        token: impl FnOnce() -> Result<Secret, OpenError>,
    ) -> Result<Self, OpenError> {
        let wrong = |why: String| OpenError::Settings { channel: "telegram".into(), why };
        let settings: Settings = crate::settings::read(settings).map_err(wrong)?;
        let base = base_url(settings.base_url.as_deref().unwrap_or(API)).map_err(wrong)?;
        let token = token()?;
        // It becomes a part of an address.
        let plain = |c: char| c.is_ascii_alphanumeric() || ":_-".contains(c);
        if token.expose().is_empty() || !token.expose().chars().all(plain) {
            let what = "a bot's token, such as the one that @BotFather gives out";
            return Err(OpenError::BadSecret { channel: "telegram".into(), what });
        }
        let (when_unknown, polling) = (settings.when_unknown, settings.polling);
        let username = settings.username.map(|name| name.trim_start_matches('@').to_lowercase());
        Ok(Self { http, binding, base, username, token, when_unknown, polling })
    }

    /// The pieces that a message is sent in.
    pub(crate) fn pieces(&self, message: &Outbound) -> Vec<Piece> {
        pieces(message, &SHAPE)
    }

    /// Whether it is to be asked for updates, if the binding says it.
    pub const fn polling(&self) -> Option<bool> {
        self.polling
    }

    /// Shows that somebody is writing, for a few seconds.
    pub async fn typing(&self, to: &str) -> Result<(), CallError> {
        let body = serde_json::json!({"chat_id": to, "action": "typing"});
        self.invoke("sendChatAction", &body).await.map(drop)
    }

    /// Answers a press, so that the button stops waiting, with a few words on the
    /// presser's screen.
    pub async fn answer_press(&self, callback: &str, words: &str) -> Result<(), CallError> {
        let words: String = words.chars().take(200).collect();
        let body = serde_json::json!({"callback_query_id": callback, "text": words});
        self.invoke("answerCallbackQuery", &body).await.map(drop)
    }

    /// The name of the bot, which also shows that its token works.
    pub async fn name(&self) -> Result<String, CallError> {
        let me = self.invoke("getMe", &serde_json::json!({})).await?;
        Ok(me["username"].as_str().unwrap_or_default().to_owned())
    }
}
