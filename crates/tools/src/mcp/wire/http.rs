//! Streamable HTTP: the requests themselves. Answers have a bounded size, and a
//! token goes to the configured origin only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use ostler_engine::secret;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{RequestBuilder, Response, Url};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};

use super::body::{Events, answer, events, is};
use crate::mcp::config::{HttpServer, McpLimits};
use crate::mcp::problem::Trouble;

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// How often a redirect is followed.
const REDIRECTS: usize = 3;
/// How often in a row a broken stream of events is opened again.
const REOPENED: usize = 5;

type Failure = StreamableHttpError<HttpFailure>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HttpFailure {
    /// There was no connection.
    #[error("it cannot be reached")]
    Unreachable,
    /// It sent us elsewhere.
    #[error("it sends us to another address, which is not followed")]
    Redirected,
    /// The connection broke.
    #[error("the connection broke")]
    Broken,
    /// It answered with an error.
    #[error("it answered with HTTP status {0}")]
    Status(u16),
    /// It answered with something else.
    #[error("its answer is no message of the protocol")]
    NotAMessage,
    /// It answered with too much.
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl HttpFailure {
    /// Whether the server has not acted on the request: it did not get it, or says
    /// that the request is at fault.
    pub(super) const fn was_not_taken(&self) -> bool {
        matches!(self, Self::Unreachable | Self::Redirected | Self::Status(400..=499))
    }
}

impl From<reqwest::Error> for HttpFailure {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() {
            Self::Unreachable
        } else if error.is_redirect() {
            Self::Redirected
        } else {
            Self::Broken
        }
    }
}

/// What the library sends its messages through.
pub(super) fn transport(
    server: &HttpServer,
    limits: &McpLimits,
) -> Result<StreamableHttpClientTransport<Client>, Trouble> {
    let url: Url = server.url.parse().map_err(|_| Trouble::Address("it is no URL".to_owned()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Trouble::Address("it is neither HTTP nor HTTPS".to_owned()));
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str())
        .max_sse_event_size(limits.message);
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(REOPENED);
    config.retry_config = Arc::new(retry);
    if let Some(bearer) = &server.bearer {
        config.auth_header = Some(secret::read_key(bearer)?.expose().to_owned());
    }
    Ok(StreamableHttpClientTransport::with_client(Client::new()?, config))
}

/// Sends requests.
#[derive(Clone)]
pub(super) struct Client(reqwest::Client);

impl Client {
    fn new() -> Result<Self, Trouble> {
        // It is there already if the program has chosen it, and that is as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .redirect(Policy::custom(follow))
            // A connection whose answer was not read to its end stalls the next.
            .pool_max_idle_per_host(0)
            .build();
        client.map(Self).map_err(|error| Trouble::Address(error.without_url().to_string()))
    }

    async fn send(
        &self,
        request: RequestBuilder,
        bearer: Option<String>,
        session: Option<&str>,
        headers: Headers,
    ) -> Result<Response, HttpFailure> {
        let accept = format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}");
        let mut request = request.header(ACCEPT, accept).headers(HeaderMap::from_iter(headers));
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session);
        }
        Ok(request.send().await?)
    }
}

/// A redirect is followed inside the same origin, where the request with its
/// token may go anyway, and only if it stays the same request.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let same_request = matches!(attempt.status().as_u16(), 307 | 308);
    let origin = attempt.previous().first().map(Url::origin);
    let same_origin = origin.is_some_and(|origin| origin == attempt.url().origin());
    if same_request && same_origin && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.error("not followed")
    }
}

impl StreamableHttpClient for Client {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let most = McpLimits::default().message;
        self.post_message_with_max_sse_event_size(uri, message, session, bearer, headers, most)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let body = serde_json::to_vec(&message)?;
        let request = self.0.post(&*uri).header(CONTENT_TYPE, JSON_MIME_TYPE).body(body);
        let response = self
            .send(request, bearer, session.as_deref(), headers)
            .await
            .map_err(StreamableHttpError::Client)?;
        if response.status() == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let awaited = matches!(message, JsonRpcMessage::Request(_));
        answer(response, awaited, most).await.map_err(StreamableHttpError::Client)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        // A server need not know this request, so its answer says nothing.
        let sent = self.send(self.0.delete(&*uri), bearer, Some(&session), headers).await;
        sent.map(|_| ()).map_err(StreamableHttpError::Client)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        let most = McpLimits::default().message;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, bearer, headers, most)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<Events, Failure> {
        let mut request = self.0.get(&*uri);
        if let Some(last_event) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, last_event);
        }
        let response = self
            .send(request, bearer, session.as_deref(), headers)
            .await
            .map_err(StreamableHttpError::Client)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if status.is_success() && is(&response, EVENT_STREAM_MIME_TYPE) => {
                Ok(events(response, most))
            }
            status if status.is_success() => {
                Err(StreamableHttpError::Client(HttpFailure::NotAMessage))
            }
            status => Err(StreamableHttpError::Client(HttpFailure::Status(status.as_u16()))),
        }
    }
}
