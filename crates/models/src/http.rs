//! HTTP requests to providers: one POST whose response is an event stream.
//!
//! Owns timeouts, size limits and the meaning of statuses. Redirects are never
//! followed, because the key would be sent along.

use std::time::{Duration, SystemTime};

use ostler_engine::model::ModelErrorKind;
use ostler_engine::secret::Secret;
use ostler_http::{HttpSetupError, client_builder};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, timeout_at};

use crate::fault::Fault;

/// Timeouts and size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    pub connect: Duration,
    /// Until the first byte of the response, including the connection.
    pub first_byte: Duration,
    /// Between two chunks of the response.
    pub between_chunks: Duration,
    /// For the whole response.
    pub total: Duration,
    /// The most bytes of a response.
    pub body_bytes: usize,
    /// The most bytes of one event.
    pub event_bytes: usize,
    /// The most bytes read of an error response.
    pub error_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            between_chunks: Duration::from_secs(90),
            total: Duration::from_secs(30 * 60),
            body_bytes: 64 * 1024 * 1024,
            event_bytes: 4 * 1024 * 1024,
            error_bytes: 64 * 1024,
        }
    }
}

/// An HTTP client for providers. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    limits: ClientLimits,
}

/// A request to a provider.
pub(crate) struct PostRequest {
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The key in the headers, to remove it from error messages.
    pub(crate) key: Option<Secret>,
}

impl Http {
    /// Creates a client that verifies servers with the certificates of the machine.
    pub fn new(limits: ClientLimits) -> Result<Self, HttpSetupError> {
        let client = client_builder()?.connect_timeout(limits.connect).build()?;
        Ok(Self { client, limits })
    }

    pub(crate) const fn limits(&self) -> &ClientLimits {
        &self.limits
    }

    /// Sends a request and waits until the response starts.
    pub(crate) async fn post(&self, post: PostRequest) -> Result<ResponseBody, Fault> {
        let started_at = Instant::now();
        let first = started_at + self.limits.first_byte;
        let request = self
            .client
            .post(post.url)
            .headers(post.headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(post.body);
        let response = match timeout_at(first, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&error)),
            Err(_) => return Err(timed_out("the provider did not answer in time")),
        };
        if response.status() != StatusCode::OK {
            return Err(self.read_error(response, first, post.key.as_ref()).await);
        }
        if let Some(kind) = not_a_stream(response.headers()) {
            let message = format!(
                "it is `{}` and not an event stream",
                crate::fault::sanitize_message(&kind)
            );
            return Err(Fault::malformed(message));
        }
        let (total, remaining_bytes) = (started_at + self.limits.total, self.limits.body_bytes);
        Ok(ResponseBody {
            response,
            next: first,
            total,
            between: self.limits.between_chunks,
            remaining_bytes,
        })
    }

    /// Reads an error response.
    async fn read_error(
        &self,
        mut response: Response,
        deadline: Instant,
        key: Option<&Secret>,
    ) -> Fault {
        let status = response.status();
        let retry_after = retry_after(response.headers(), SystemTime::now());
        if status.is_redirection() {
            let why = "the provider redirects, which is not followed; correct its base URL";
            return Fault::new(ModelErrorKind::Status(status.as_u16()), why);
        }
        let mut body = Vec::new();
        while body.len() < self.limits.error_bytes
            && let Ok(Ok(Some(bytes))) = timeout_at(deadline, response.chunk()).await
        {
            body.extend_from_slice(&bytes);
        }
        body.truncate(self.limits.error_bytes);
        let message = error_message(&String::from_utf8_lossy(&body));
        // Redacted before it is truncated, which could leave half a key.
        let message = key.map_or_else(|| message.clone(), |key| key.redact(&message));
        Fault { retry_after, ..Fault::from_status(status.as_u16(), &message) }
    }
}

/// The body of a response.
pub(crate) struct ResponseBody {
    response: Response,
    /// The deadlines of the next chunk and of the whole response.
    next: Instant,
    total: Instant,
    between: Duration,
    remaining_bytes: usize,
}

impl ResponseBody {
    /// Returns the next bytes; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Fault> {
        let deadline = self.next.min(self.total);
        let bytes = match timeout_at(deadline, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Ok(None),
            // The details do not matter: the rest is missing.
            Ok(Err(_)) => return Err(Fault::incomplete()),
            Err(_) => return Err(timed_out("the rest of the answer did not arrive in time")),
        };
        self.next = Instant::now() + self.between;
        self.remaining_bytes = self
            .remaining_bytes
            .checked_sub(bytes.len())
            .ok_or_else(|| Fault::malformed("it is too large"))?;
        Ok(Some(bytes))
    }
}

fn timed_out(message: &str) -> Fault {
    Fault::new(ModelErrorKind::TimedOut, message)
}

/// Describes a connection error without the URL, which may contain more than a
/// host.
fn unreachable(error: &reqwest::Error) -> Fault {
    let (kind, message) = if error.is_builder() {
        (ModelErrorKind::UnknownModel, "the base URL of the provider is invalid")
    } else if error.is_timeout() {
        (ModelErrorKind::TimedOut, "the provider could not be reached in time")
    } else if error.is_connect() {
        (ModelErrorKind::Network, "the provider could not be reached")
    } else {
        (ModelErrorKind::Network, "the connection to the provider was lost")
    };
    Fault::new(kind, message)
}

fn not_a_stream(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().unwrap_or("unreadable");
    let essence = kind.split(';').next().unwrap_or_default().trim();
    (!essence.eq_ignore_ascii_case("text/event-stream")).then(|| essence.to_owned())
}

/// Returns the message in the body of an error, wherever the provider puts it.
fn error_message(body: &str) -> String {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(body) else {
        // An HTML page adds nothing to the status.
        return if body.trim_start().starts_with('<') { String::new() } else { body.to_owned() };
    };
    let places = ["/error/message", "/error", "/message", "/detail"];
    let found = places.iter().find_map(|place| json.pointer(place)?.as_str());
    found.unwrap_or_default().to_owned()
}

/// Returns the wait requested by the provider: milliseconds, seconds or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|value| value.parse().ok());
    if let Some(millis) = millis {
        return Some(Duration::from_millis(millis));
    }
    let value = text("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Returns the header with a key, marked as sensitive.
pub(crate) fn key_header(
    name: &'static str,
    start: &str,
    key: &Secret,
) -> Result<(HeaderName, HeaderValue), Fault> {
    let value = HeaderValue::from_str(&format!("{start}{}", key.expose()));
    let mut value = value
        .map_err(|_| Fault::new(ModelErrorKind::NoKey, "its key cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok((HeaderName::from_static(name), value))
}

#[cfg(test)]
mod tests {
    use super::{error_message, retry_after};
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
    use std::time::{Duration, SystemTime};

    /// C03: every form of `Retry-After` is understood.
    #[test]
    fn c03_retry_after_is_parsed_as_seconds_or_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let check = |name: &'static str, value: &'static str, expected: Option<u64>| {
            let (name, text) = (HeaderName::from_static(name), HeaderValue::from_static(value));
            let headers = HeaderMap::from_iter([(name, text)]);
            let expected = expected.map(Duration::from_millis);
            assert_eq!(retry_after(&headers, now), expected, "{value}");
        };
        check("retry-after", "17", Some(17_000));
        check("retry-after", " 0 ", Some(0));
        check("retry-after", "1.5", Some(1500));
        check("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000));
        check("retry-after", "Sun, 06 Nov 1994 08:49:27 GMT", Some(0));
        check("retry-after-ms", "250", Some(250));
        for nonsense in ["", "soon", "-3", "NaN", "inf", "1e300"] {
            check("retry-after", nonsense, None);
        }
    }

    #[test]
    fn the_message_of_an_error_body_is_found() {
        let check = |body: &str, expected: &str| assert_eq!(error_message(body), expected);
        check(r#"{"error":{"message":"too long","type":"x"}}"#, "too long");
        check(r#"{"type":"error","error":{"type":"x","message":"busy"}}"#, "busy");
        check(r#"{"error":"model not found"}"#, "model not found");
        check(r#"{"object":"error","message":"bad"}"#, "bad");
        check(r#"{"detail":"Not Found"}"#, "Not Found");
        check(r#"{"error":{"code":3}}"#, "");
        check("upstream connect error", "upstream connect error");
        check("<html>502</html>", "");
    }
}
