//! Asking a provider over HTTP: one POST whose answer is a stream of events.
//!
//! It owns time-outs, size limits and what a status means. A redirect is never
//! followed, since the key would go along.

use std::time::{Duration, SystemTime};

use ostler_engine::model::ModelErrorKind;
use ostler_engine::secret::Secret;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::{Instant, timeout_at};

use crate::fault::Fault;

/// How long to wait, and how much to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the connection.
    pub connect: Duration,
    /// For the first byte of an answer, the connection included.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub between_chunks: Duration,
    /// For the whole answer.
    pub whole: Duration,
    /// The most bytes of an answer on the wire.
    pub bytes: usize,
    /// The most bytes of one event.
    pub event_bytes: usize,
    /// The most bytes of an error that are read.
    pub error_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            between_chunks: Duration::from_secs(90),
            whole: Duration::from_secs(30 * 60),
            bytes: 64 * 1024 * 1024,
            event_bytes: 4 * 1024 * 1024,
            error_bytes: 64 * 1024,
        }
    }
}

/// Why there is no HTTP client.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The certificates of the machine, or the ciphers, cannot be used.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The client itself.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
}

/// Connections to providers. A copy shares them.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    limits: Limits,
}

/// One question to a provider.
pub(crate) struct Post {
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The key among the headers, so that what comes back can be rid of it.
    pub(crate) key: Option<Secret>,
}

impl Http {
    /// Connections with these limits, checked by the certificates of the machine.
    pub fn new(limits: Limits) -> Result<Self, SetupError> {
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(limits.connect)
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, limits })
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Asks, and waits until the provider has begun to answer.
    pub(crate) async fn post(&self, post: Post) -> Result<Body, Fault> {
        let began = Instant::now();
        let first = began + self.limits.first_byte;
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
            Err(_) => return Err(late("no answer came in time")),
        };
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response, first, post.key.as_ref()).await);
        }
        if let Some(kind) = not_a_stream(response.headers()) {
            let message =
                format!("it is `{}` and no stream of events", crate::fault::presentable(&kind));
            return Err(Fault::malformed(message));
        }
        let (whole, left) = (began + self.limits.whole, self.limits.bytes);
        Ok(Body { response, next: first, whole, between: self.limits.between_chunks, left })
    }

    /// What an answer that is none says.
    async fn refusal(
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
        let words = complaint(&String::from_utf8_lossy(&body));
        // Before it is cut, since a cut may leave half a key.
        let words = key.map_or_else(|| words.clone(), |key| key.hide_in(&words));
        Fault { retry_after, ..Fault::said(status.as_u16(), &words) }
    }
}

/// The bytes of an answer.
pub(crate) struct Body {
    response: Response,
    /// When the next piece must be there, and when the last.
    next: Instant,
    whole: Instant,
    between: Duration,
    left: usize,
}

impl Body {
    /// The next bytes; none at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Fault> {
        let deadline = self.next.min(self.whole);
        let bytes = match timeout_at(deadline, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Ok(None),
            // Its words name the address and nothing of the question; but what
            // matters is that the rest is missing.
            Ok(Err(_)) => return Err(Fault::cut()),
            Err(_) => return Err(late("the rest of the answer did not come in time")),
        };
        self.next = Instant::now() + self.between;
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(|| {
            Fault::malformed("it has more bytes than any model writes in good faith")
        })?;
        Ok(Some(bytes))
    }
}

fn late(message: &str) -> Fault {
    Fault::new(ModelErrorKind::TimedOut, message)
}

/// Says what failed without the address, which may have more in it than a host.
fn unreachable(error: &reqwest::Error) -> Fault {
    let (kind, message) = if error.is_builder() {
        (ModelErrorKind::UnknownModel, "the base URL of the provider is none")
    } else if error.is_timeout() {
        (ModelErrorKind::TimedOut, "the provider could not be reached in time")
    } else if error.is_connect() {
        (ModelErrorKind::Network, "the provider could not be reached")
    } else {
        (ModelErrorKind::Network, "the connection to the provider broke")
    };
    Fault::new(kind, message)
}

fn not_a_stream(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().unwrap_or("unreadable");
    let essence = kind.split(';').next().unwrap_or_default().trim();
    (!essence.eq_ignore_ascii_case("text/event-stream")).then(|| essence.to_owned())
}

/// The sentence in the body of an error, wherever the provider puts it.
fn complaint(body: &str) -> String {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(body) else {
        // A page for people says nothing that the status does not.
        return if body.trim_start().starts_with('<') { String::new() } else { body.to_owned() };
    };
    let places = ["/error/message", "/error", "/message", "/detail"];
    let found = places.iter().find_map(|place| json.pointer(place)?.as_str());
    found.unwrap_or_default().to_owned()
}

/// How long the provider asks to wait: milliseconds, seconds or a date.
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

/// The header with a key, marked so that nobody prints it.
pub(crate) fn key_header(
    name: &'static str,
    start: &str,
    key: &Secret,
) -> Result<(HeaderName, HeaderValue), Fault> {
    let value = HeaderValue::from_str(&format!("{start}{}", key.expose()));
    let mut value =
        value.map_err(|_| Fault::new(ModelErrorKind::NoKey, "its key fits no header"))?;
    value.set_sensitive(true);
    Ok((HeaderName::from_static(name), value))
}

#[cfg(test)]
mod tests {
    use super::{complaint, retry_after};
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
    use std::time::{Duration, SystemTime};

    /// C03: what a provider asks for is understood in every form.
    #[test]
    fn c03_retry_after_comes_as_seconds_or_as_a_date() {
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
    fn the_sentence_of_an_error_is_found() {
        let check = |body: &str, expected: &str| assert_eq!(complaint(body), expected);
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
