//! Calls to providers: bounded in time and size, and clear about whether a
//! request can have arrived.
//!
//! Errors never name an address, since Telegram's has the token in it. Redirects
//! are not followed, since a signature or a token would go along.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use reqwest::{Client, RequestBuilder, Response};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::timeout;

use crate::reach::Reach;

/// How long to wait, and how much to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For a send, the connection included.
    pub send: Duration,
    /// For a file.
    pub file: Duration,
    /// The most bytes of an answer that is no file.
    pub answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            send: Duration::from_secs(10),
            file: Duration::from_secs(60),
            answer_bytes: 4 * 1024 * 1024,
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
pub(crate) struct Http {
    pub(crate) client: Client,
    pub(crate) limits: Limits,
    pub(crate) reach: Reach,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The request cannot have arrived.
    NotSent(String),
    /// The request may have arrived.
    NoAnswer(String),
    /// The answer is longer than what is read.
    TooLarge,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Http {
    pub(crate) fn new(limits: Limits, reach: Reach) -> Result<Self, SetupError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(Arc::new(reach))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(limits.connect)
            // Shorter than what servers keep, so that none is used as it closes.
            .pool_idle_timeout(Duration::from_secs(20))
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")));
        if reach == Reach::Public {
            // A proxy would look names up itself.
            client = client.no_proxy();
        }
        Ok(Self { client: client.build()?, limits, reach })
    }

    /// Asks, and reads the whole answer.
    pub(crate) async fn ask(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        self.ask_within(request, self.limits.send, self.limits.answer_bytes).await
    }

    /// The same with a time and a size of its own.
    pub(crate) async fn ask_within(
        &self,
        request: RequestBuilder,
        time: Duration,
        most: usize,
    ) -> Result<Answer, Failure> {
        let late = |_| Failure::NoAnswer(format!("no answer came within {} ms", time.as_millis()));
        timeout(time, self.read(request, most)).await.map_err(late)?
    }

    async fn read(&self, request: RequestBuilder, most: usize) -> Result<Answer, Failure> {
        let request = request.build().map_err(|error| failed(&error))?;
        let reached = self.reach.check_url(request.url());
        reached.map_err(|why| Failure::NotSent(format!("the server is not asked: {why}")))?;
        let response = self.client.execute(request).await.map_err(|error| failed(&error))?;
        whole(response, most).await
    }
}

/// Reads an answer to its end.
async fn whole(mut response: Response, most: usize) -> Result<Answer, Failure> {
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
        if body.len() + chunk.len() > most {
            return Err(Failure::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body: body.freeze() })
}

/// What a failure comes to. Only its innermost cause is told: the outer ones name
/// the address.
fn failed(error: &reqwest::Error) -> Failure {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let innermost = error.source().map(|_| format!(" ({cause})")).unwrap_or_default();
    if error.is_connect() || error.is_builder() {
        Failure::NotSent(format!("the server cannot be reached{innermost}"))
    } else {
        Failure::NoAnswer(format!("the connection broke before the answer was there{innermost}"))
    }
}

/// What the header says about when to come again.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// What a provider said, on one line and short.
pub(crate) fn presentable(words: &str) -> String {
    const MOST: usize = 300;
    let words = words.split(|c: char| c.is_whitespace() || c.is_control());
    let mut shown = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if shown.len() > MOST {
        shown.truncate(shown.floor_char_boundary(MOST));
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{presentable, retry_after};
    use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
    use std::time::{Duration, SystemTime};

    #[test]
    fn c17_retry_after_comes_as_seconds_or_as_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let check = |value: &'static str, expected: Option<u64>| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs), "{value}");
        };
        check("17", Some(17));
        check("Sun, 06 Nov 1994 08:49:47 GMT", Some(10));
        check("Sun, 06 Nov 1994 08:49:27 GMT", Some(0));
        check("soon", None);
        check("-3", None);
    }

    #[test]
    fn what_a_provider_says_is_one_short_line() {
        assert_eq!(presentable("a\n b\u{7} c "), "a b c");
        assert!(presentable(&"ä".repeat(1000)).len() <= 310);
    }
}
