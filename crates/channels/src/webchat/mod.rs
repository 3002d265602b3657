//! The chat on a web page: what the page posts and what it gets, whom a token
//! stands for, and the script that a page embeds.
//!
//! Nothing is sent here: a message is delivered once it is stored, and the page
//! reads it from the conversation's events.

mod receive;
mod token;
mod wire;

use ostler_domain::id::BindingId;
use serde::Deserialize;

pub use token::Visitor;
pub use wire::{Event, Hello, Post, PostedFile, SharedFile, Speaker, Welcome};

use crate::error::OpenError;
use crate::outbound::{FilesGo, Format, Outbound, Piece, Shape, pieces};
use crate::secret::Secret;

/// The script that a page embeds. It has no dependencies.
pub const WIDGET: &str = include_str!("widget.js");

/// The fewest characters of a secret that signs tokens.
const LEAST_SECRET: usize = 32;

const SHAPE: Shape =
    Shape { format: Format::Markdown, length: None, files: FilesGo::Along, buttons: true };

/// The settings of a binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The origins of the pages that may embed it; all if there is none.
    #[serde(default)]
    origins: Vec<String>,
}

/// A chat.
#[derive(Debug, Clone)]
pub struct Webchat {
    binding: BindingId,
    origins: Vec<url::Origin>,
    secret: Secret,
}

impl Webchat {
    pub(crate) fn open(
        binding: BindingId,
        settings: &str,
        secret: impl FnOnce() -> Result<Secret, OpenError>,
    ) -> Result<Self, OpenError> {
        let wrong = |why: String| OpenError::Settings { channel: "webchat".into(), why };
        let settings: Settings = crate::settings::read(settings).map_err(wrong)?;
        let origin = |text: &String| crate::settings::web_url(text).map(|url| url.origin());
        let origins =
            settings.origins.iter().map(origin).collect::<Result<_, _>>().map_err(wrong)?;
        let secret = secret()?;
        if secret.expose().len() < LEAST_SECRET {
            let what = "a random text of at least 32 characters";
            return Err(OpenError::BadSecret { channel: "webchat".into(), what });
        }
        Ok(Self { binding, origins, secret })
    }

    /// Whether a page of this origin may embed the chat.
    pub fn allows_origin(&self, origin: &str) -> bool {
        let same = |url: url::Url| self.origins.contains(&url.origin());
        self.origins.is_empty() || crate::settings::web_url(origin).is_ok_and(same)
    }

    /// The pieces that a message is sent in.
    pub(crate) fn pieces(&self, message: &Outbound) -> Vec<Piece> {
        pieces(message, &SHAPE)
    }
}
