//! The generic webhook: signed JSON in both directions. Bound under the name of
//! another channel, such as `sms`, it connects a gateway for that channel.

mod receive;
mod send;

use ostler_domain::channel::Channel;
use ostler_domain::channel::delivery::UnknownOutcomePolicy;
use ostler_domain::contact::SenderProof;
use serde::Deserialize;
use url::Url;

use crate::error::{CallError, OpenError};
use crate::http::{HttpClient, HttpError};
use crate::outbound::{FilePlacement, Markup, MessagePiece, OutboundMessage, PieceLayout, pieces};
use crate::secret::ChannelSecret;
use crate::settings::{InvalidSetting, parse_http_url};
use crate::signature::SigningKeys;
use crate::text::{LengthLimit, LengthUnit};

/// The usual limit of gateways, which split such a text into ten messages.
const MAX_SMS_CHARS: usize = 1600;
const DEFAULT_MAX_CHARS: usize = 4096;
/// The smallest `max_chars` that settings may have.
const MIN_MAX_CHARS: usize = 20;

/// The settings of a binding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: String,
    #[serde(default)]
    format: FormatSetting,
    /// The maximum length of a piece of plain text.
    #[serde(default)]
    max_chars: Option<usize>,
    /// Origins from which files may be fetched, besides that of `url`.
    #[serde(default)]
    file_origins: Vec<String>,
    /// By default the message is sent again: receivers recognize a repeat by its id.
    #[serde(default)]
    when_unknown: Option<UnknownOutcomePolicy>,
    /// Whether the gateway vouches for the senders it names. The sender of a text message can
    /// be forged, so there it does not by default.
    #[serde(default)]
    proven_senders: Option<bool>,
}

impl Settings {
    /// Parses settings. Returns them with their `url` and the origins of files.
    fn parse(json: &str) -> Result<(Self, Url, Vec<url::Origin>), InvalidSetting> {
        let settings: Self = crate::settings::parse(json)?;
        let parse_url = |path: &str, url: &String| {
            parse_http_url(url).map_err(|reason| InvalidSetting::new(path, reason))
        };
        let url = parse_url("url", &settings.url)?;
        let mut file_origins = vec![url.origin()];
        for origin in &settings.file_origins {
            file_origins.push(parse_url("file_origins", origin)?.origin());
        }
        if settings.max_chars.is_some_and(|max| max < MIN_MAX_CHARS) {
            let reason = format!("max_chars is at least {MIN_MAX_CHARS}");
            return Err(InvalidSetting::new("max_chars", reason));
        }
        Ok((settings, url, file_origins))
    }
}

/// Checks the settings of a binding.
pub(crate) fn check_settings(json: &str) -> Result<(), InvalidSetting> {
    Settings::parse(json).map(drop)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FormatSetting {
    /// Without formatting, split into pieces.
    #[default]
    Plain,
    /// Unchanged, in one piece.
    Markdown,
}

/// A binding to a gateway.
#[derive(Debug, Clone)]
pub struct Webhook {
    http: HttpClient,
    channel: Channel,
    url: Url,
    layout: PieceLayout,
    file_origins: Vec<url::Origin>,
    keys: SigningKeys,
    senders: SenderProof,
    pub(crate) unknown_outcome: UnknownOutcomePolicy,
}

impl Webhook {
    pub(crate) fn open(
        http: HttpClient,
        channel: Channel,
        settings: &str,
        secret: impl FnOnce() -> Result<ChannelSecret, OpenError>,
    ) -> Result<Self, OpenError> {
        let invalid =
            |reason: String| OpenError::InvalidSettings { channel: channel.to_string(), reason };
        let (settings, url, file_origins) =
            Settings::parse(settings).map_err(|setting| invalid(setting.to_string()))?;
        http.network.check_url(&url).map_err(|error| {
            invalid(format!(
                "`url` cannot be {url}: {error}; only `local_network = true` in ostler.toml allows it"
            ))
        })?;
        let max_chars = settings.max_chars.unwrap_or(match channel {
            Channel::Sms => MAX_SMS_CHARS,
            _ => DEFAULT_MAX_CHARS,
        });
        let keys = SigningKeys::parse(&secret()?).ok_or_else(|| OpenError::InvalidSecret {
            channel: channel.to_string(),
            expected: "one or more keys of the form whsec_…, separated by white space",
        })?;
        let (markup, max_length) = match settings.format {
            FormatSetting::Plain => {
                (Markup::Plain, Some(LengthLimit { unit: LengthUnit::Chars, max: max_chars }))
            }
            FormatSetting::Markdown => (Markup::Markdown, None),
        };
        let layout =
            PieceLayout { markup, max_length, files: FilePlacement::Separate, buttons: true };
        let unknown_outcome = settings.when_unknown.unwrap_or(UnknownOutcomePolicy::Resend);
        let vouches = settings.proven_senders.unwrap_or(channel != Channel::Sms);
        let senders = if vouches { SenderProof::Proven } else { SenderProof::Unproven };
        Ok(Self { http, channel, url, layout, file_origins, keys, senders, unknown_outcome })
    }

    pub(crate) fn pieces(&self, message: &OutboundMessage) -> Vec<MessagePiece> {
        pieces(message, &self.layout)
    }

    /// Fetches a file from the gateway. Only URLs of known origins are fetched,
    /// because any other could lead into the network of the installation.
    pub(crate) async fn fetch_file(&self, url: &str) -> Result<bytes::Bytes, CallError> {
        let allowed =
            parse_http_url(url).ok().filter(|url| self.file_origins.contains(&url.origin()));
        let Some(url) = allowed else {
            let reason = "the origin of the file is not in `file_origins` of the binding";
            return Err(CallError::Rejected(reason.into()));
        };
        let max_bytes = ostler_domain::message::MAX_BLOB_BYTES;
        let request = self.http.client.get(url);
        match self.http.send_with_limits(request, self.http.limits.file_timeout, max_bytes).await {
            Ok(response) if response.status == 200 => Ok(response.body),
            Ok(response) if response.status == 429 || response.status >= 500 => {
                let reason = format!("the gateway responded with HTTP {}", response.status);
                let retry_after =
                    crate::http::retry_after(&response.headers, std::time::SystemTime::now());
                Err(CallError::Retryable { retry_after, reason })
            }
            Ok(response) => Err(CallError::Rejected(format!(
                "the gateway responded with HTTP {}",
                response.status
            ))),
            Err(HttpError::TooLarge) => Err(CallError::TooLarge),
            Err(HttpError::NotSent(reason) | HttpError::NoResponse(reason)) => {
                Err(CallError::Retryable { retry_after: None, reason })
            }
        }
    }
}
