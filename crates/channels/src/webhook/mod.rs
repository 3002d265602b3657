//! The generic webhook: signed JSON in both directions. Bound under the name of
//! another channel, such as `sms`, it is a gateway's side of that channel.

mod receive;
mod send;

use ostler_domain::channel::Channel;
use ostler_domain::channel::delivery::WhenUnknown;
use serde::Deserialize;
use url::Url;

use crate::error::{CallError, OpenError};
use crate::http::{Failure, Http};
use crate::outbound::{FilesGo, Format, Outbound, Piece, Shape, pieces};
use crate::secret::Secret;
use crate::settings::web_url;
use crate::signature::Keys;
use crate::text::{Length, Unit};

/// How long a text message may be: as many as ten in a row.
const MOST_SMS: usize = 1600;
/// How long any other may be.
const MOST_CHARS: usize = 4096;
/// The shortest limit that makes sense.
const LEAST_CHARS: usize = 20;

/// The settings of a binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where messages go.
    url: String,
    /// How words are written.
    #[serde(default)]
    format: Wanted,
    /// The most characters of a piece of plain text.
    #[serde(default)]
    max_chars: Option<usize>,
    /// Other places, as origins, that files may be fetched from.
    #[serde(default)]
    file_origins: Vec<String>,
    /// What to do when nobody knows whether a message was sent.
    #[serde(default)]
    when_unknown: WhenUnknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    /// Without formatting, in pieces.
    #[default]
    Plain,
    /// As it is, in one piece.
    Markdown,
}

/// A gateway.
#[derive(Debug, Clone)]
pub struct Webhook {
    http: Http,
    channel: Channel,
    url: Url,
    shape: Shape,
    origins: Vec<url::Origin>,
    keys: Keys,
    pub(crate) when_unknown: WhenUnknown,
}

impl Webhook {
    pub(crate) fn open(
        http: Http,
        channel: Channel,
        settings: &str,
        secret: impl FnOnce() -> Result<Secret, OpenError>,
    ) -> Result<Self, OpenError> {
        let wrong = |why: String| OpenError::Settings { channel: channel.to_string(), why };
        let settings: Settings = crate::settings::read(settings).map_err(wrong)?;
        let url = web_url(&settings.url).map_err(wrong)?;
        let mut origins = vec![url.origin()];
        for origin in &settings.file_origins {
            origins.push(web_url(origin).map_err(wrong)?.origin());
        }
        let most = settings.max_chars.unwrap_or(match channel {
            Channel::Sms => MOST_SMS,
            _ => MOST_CHARS,
        });
        if most < LEAST_CHARS {
            return Err(wrong(format!("max_chars is at least {LEAST_CHARS}")));
        }
        let keys = Keys::read(&secret()?).ok_or_else(|| OpenError::BadSecret {
            channel: channel.to_string(),
            what: "one or more keys of the form whsec_… with white space between them",
        })?;
        let (format, length) = match settings.format {
            Wanted::Plain => (Format::Plain, Some(Length { unit: Unit::Chars, most })),
            Wanted::Markdown => (Format::Markdown, None),
        };
        let shape = Shape { format, length, files: FilesGo::Apart, buttons: true };
        let when_unknown = settings.when_unknown;
        Ok(Self { http, channel, url, shape, origins, keys, when_unknown })
    }

    /// The pieces that a message is sent in.
    pub(crate) fn pieces(&self, message: &Outbound) -> Vec<Piece> {
        pieces(message, &self.shape)
    }

    /// The bytes of a file that the gateway has. Nobody else is asked, since an
    /// address may lead into the network of this machine.
    pub(crate) async fn file(&self, url: &str) -> Result<bytes::Bytes, CallError> {
        let known = web_url(url).ok().filter(|url| self.origins.contains(&url.origin()));
        let Some(url) = known else {
            let why = "the file lies elsewhere; name its origin in `file_origins` of the binding";
            return Err(CallError::Refused(why.into()));
        };
        let most = ostler_domain::message::MAX_BLOB_BYTES;
        let request = self.http.client.get(url);
        match self.http.ask_within(request, self.http.limits.file, most).await {
            Ok(answer) if answer.status == 200 => Ok(answer.body),
            Ok(answer) if answer.status == 429 || answer.status >= 500 => {
                let reason = format!("the gateway answered with HTTP {}", answer.status);
                let after = crate::http::retry_after(&answer.headers, std::time::SystemTime::now());
                Err(CallError::Later { after, reason })
            }
            Ok(answer) => {
                Err(CallError::Refused(format!("the gateway answered with HTTP {}", answer.status)))
            }
            Err(Failure::TooLarge) => Err(CallError::TooLarge),
            Err(Failure::NotSent(reason) | Failure::NoAnswer(reason)) => {
                Err(CallError::Later { after: None, reason })
            }
        }
    }
}
