//! HTTP requests to providers, with limits on time and size. Errors tell whether
//! the request may have arrived.
//!
//! Errors never contain an address, because Telegram's addresses contain the token.
//! Redirects are not followed, because they would carry a signature or token along.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use ostler_http::{HttpSetupError, client_builder};
use reqwest::{Client, RequestBuilder, Response};
use tokio::time::timeout;

use crate::network::NetworkAccess;

/// Timeouts and size limits of requests to providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    pub connect_timeout: Duration,
    /// For a whole request, including the connection.
    pub send_timeout: Duration,
    /// For a request that sends or fetches a file.
    pub file_timeout: Duration,
    /// For a response that is not a file.
    pub max_response_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            send_timeout: Duration::from_secs(10),
            file_timeout: Duration::from_secs(60),
            max_response_bytes: 4 * 1024 * 1024,
        }
    }
}

/// The HTTP client of all channels. Clones share one connection pool.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    pub(crate) client: Client,
    pub(crate) limits: HttpLimits,
    pub(crate) network: NetworkAccess,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HttpError {
    /// The request did not arrive.
    NotSent(String),
    /// The request may have arrived.
    NoResponse(String),
    /// The response exceeds the size limit.
    TooLarge,
}

/// A complete response.
#[derive(Debug, Clone)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpClient {
    pub(crate) fn new(limits: HttpLimits, network: NetworkAccess) -> Result<Self, HttpSetupError> {
        let mut client = client_builder()?
            .dns_resolver(Arc::new(network))
            .connect_timeout(limits.connect_timeout)
            // Shorter than the usual timeout of servers, so that no request uses a
            // connection that the server is closing.
            .pool_idle_timeout(Duration::from_secs(20));
        if network == NetworkAccess::Public {
            // A proxy would resolve names itself, without the check.
            client = client.no_proxy();
        }
        Ok(Self { client: client.build()?, limits, network })
    }

    /// Sends a request and reads the whole response, within the default limits.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<HttpResponse, HttpError> {
        self.send_with_limits(request, self.limits.send_timeout, self.limits.max_response_bytes)
            .await
    }

    /// Sends a request and reads the whole response, within the given limits.
    pub(crate) async fn send_with_limits(
        &self,
        request: RequestBuilder,
        time_limit: Duration,
        max_bytes: usize,
    ) -> Result<HttpResponse, HttpError> {
        timeout(time_limit, self.execute(request, max_bytes)).await.map_err(|_| {
            HttpError::NoResponse(format!("no response within {} ms", time_limit.as_millis()))
        })?
    }

    async fn execute(
        &self,
        request: RequestBuilder,
        max_bytes: usize,
    ) -> Result<HttpResponse, HttpError> {
        let request = request.build().map_err(|error| classify(&error))?;
        self.network.check_url(request.url()).map_err(|error| {
            HttpError::NotSent(format!("the server may not be contacted: {error}"))
        })?;
        let response = self.client.execute(request).await.map_err(|error| classify(&error))?;
        read_response(response, max_bytes).await
    }
}

/// Reads a response of at most `max_bytes`.
async fn read_response(
    mut response: Response,
    max_bytes: usize,
) -> Result<HttpResponse, HttpError> {
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| classify(&error))? {
        if body.len() + chunk.len() > max_bytes {
            return Err(HttpError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse { status, headers, body: body.freeze() })
}

/// Tells whether the request may have arrived. Only the innermost cause is quoted,
/// because the outer ones contain the address.
fn classify(error: &reqwest::Error) -> HttpError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let innermost = error.source().map(|_| format!(" ({cause})")).unwrap_or_default();
    if error.is_connect() || error.is_builder() {
        HttpError::NotSent(format!("the server cannot be reached{innermost}"))
    } else {
        HttpError::NoResponse(format!("the connection was lost before the response{innermost}"))
    }
}

/// Returns the wait that the header `Retry-After` asks for.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Returns a provider's text on one line, shortened.
pub(crate) fn one_line(text: &str) -> String {
    const MAX_BYTES: usize = 300;
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let mut line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.len() > MAX_BYTES {
        line.truncate(line.floor_char_boundary(MAX_BYTES));
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{one_line, retry_after};
    use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
    use std::time::{Duration, SystemTime};

    #[test]
    fn c17_retry_after_is_parsed_as_seconds_or_as_a_date() {
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
    fn one_line_removes_line_breaks_and_shortens() {
        assert_eq!(one_line("a\n b\u{7} c "), "a b c");
        assert!(one_line(&"ä".repeat(1000)).len() <= 310);
    }
}
