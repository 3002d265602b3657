//! The streamable HTTP transport. Answers have a size limit, and the token is sent to
//! the configured origin only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use ostler_engine::secret::SecretScope;
use ostler_http::client_builder;
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

use super::response::{EventStream, event_stream, has_content_type, read_response};
use super::task_tools::TaskTools;
use crate::mcp::config::{McpHttpServer, McpLimits, read_value};
use crate::mcp::error::McpServerError;
use crate::web::{AddressRefused, FetchPolicy, SystemResolver};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 3;
/// Attempts in a row to reopen a lost event stream.
const MAX_REOPENS: usize = 5;

type TransportError = StreamableHttpError<McpHttpError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum McpHttpError {
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it redirects to another address, which is not followed")]
    Redirected,
    #[error("the connection was lost")]
    ConnectionLost,
    #[error("it answered with HTTP status {0}")]
    Status(u16),
    #[error("its answer is not a valid protocol message")]
    InvalidMessage,
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl McpHttpError {
    /// Returns whether the server certainly did not act on the request: it did not get it,
    /// or refused it as a client error.
    pub(super) const fn was_not_processed(&self) -> bool {
        matches!(self, Self::Unreachable | Self::Redirected | Self::Status(400..=499))
    }
}

impl From<reqwest::Error> for McpHttpError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() {
            Self::Unreachable
        } else if error.is_redirect() {
            Self::Redirected
        } else {
            Self::ConnectionLost
        }
    }
}

/// Creates the transport for a server. Fails if its address is invalid or its token
/// cannot be read.
pub(super) fn transport(
    server: &McpHttpServer,
    secrets: &SecretScope,
    limits: &McpLimits,
    task_tools: &TaskTools,
) -> Result<StreamableHttpClientTransport<HttpClient>, McpServerError> {
    let url: Url = server
        .url
        .parse()
        .map_err(|_| McpServerError::InvalidAddress("it is not a URL".to_owned()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(McpServerError::InvalidAddress("it is neither HTTP nor HTTPS".to_owned()));
    }
    let refused = |error: AddressRefused| McpServerError::InvalidAddress(error.to_string());
    server.network.check(&server.url).map_err(refused)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str())
        .max_sse_event_size(limits.max_message_bytes);
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(MAX_REOPENS);
    config.retry_config = Arc::new(retry);
    for (name, value) in &server.headers {
        let invalid = || McpServerError::InvalidAddress(format!("the header {name} is not valid"));
        let (text, _) = read_value(value, secrets)?;
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(text.trim()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        config.custom_headers.insert(header, value);
    }
    let client = HttpClient::new(&server.network, task_tools.clone())?;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// The HTTP client of the transport.
#[derive(Clone)]
pub(super) struct HttpClient {
    client: reqwest::Client,
    task_tools: TaskTools,
}

impl HttpClient {
    fn new(network: &FetchPolicy, task_tools: TaskTools) -> Result<Self, McpServerError> {
        let builder =
            client_builder().map_err(|error| McpServerError::InvalidAddress(error.to_string()))?;
        let client = network
            .apply(builder, Arc::new(SystemResolver))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::custom(check_redirect))
            // A reused connection stalls if its last answer was not read to the end.
            .pool_max_idle_per_host(0)
            .build();
        client
            .map(|client| Self { client, task_tools })
            .map_err(|error| McpServerError::InvalidAddress(error.without_url().to_string()))
    }

    async fn send(
        &self,
        request: RequestBuilder,
        bearer: Option<String>,
        session: Option<&str>,
        headers: Headers,
    ) -> Result<Response, McpHttpError> {
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

/// Follows a redirect only within the same origin, where the token may be sent, and
/// only if it keeps the method and body.
fn check_redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let same_request = matches!(attempt.status().as_u16(), 307 | 308);
    let origin = attempt.previous().first().map(Url::origin);
    let same_origin = origin.is_some_and(|origin| origin == attempt.url().origin());
    if same_request && same_origin && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.error("not followed")
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = McpHttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let max_bytes = McpLimits::default().max_message_bytes;
        self.post_message_with_max_sse_event_size(uri, message, session, bearer, headers, max_bytes)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: Headers,
        max_bytes: usize,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let body = serde_json::to_vec(&message)?;
        let request = self.client.post(&*uri).header(CONTENT_TYPE, JSON_MIME_TYPE).body(body);
        let response = self
            .send(request, bearer, session.as_deref(), headers)
            .await
            .map_err(StreamableHttpError::Client)?;
        if response.status() == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let expects_answer = matches!(message, JsonRpcMessage::Request(_));
        read_response(response, expects_answer, max_bytes, &self.task_tools)
            .await
            .map_err(StreamableHttpError::Client)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<(), TransportError> {
        // Servers need not support this request, so the answer is ignored.
        let sent = self.send(self.client.delete(&*uri), bearer, Some(&session), headers).await;
        sent.map(|_| ()).map_err(StreamableHttpError::Client)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: Headers,
    ) -> Result<EventStream, TransportError> {
        let max_bytes = McpLimits::default().max_message_bytes;
        self.get_stream_with_max_sse_event_size(
            uri, session, last_event, bearer, headers, max_bytes,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: Headers,
        max_bytes: usize,
    ) -> Result<EventStream, TransportError> {
        let mut request = self.client.get(&*uri);
        if let Some(last_event) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, last_event);
        }
        let response = self
            .send(request, bearer, session.as_deref(), headers)
            .await
            .map_err(StreamableHttpError::Client)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status
                if status.is_success() && has_content_type(&response, EVENT_STREAM_MIME_TYPE) =>
            {
                Ok(event_stream(response, max_bytes, self.task_tools.clone()))
            }
            status if status.is_success() => {
                Err(StreamableHttpError::Client(McpHttpError::InvalidMessage))
            }
            status => Err(StreamableHttpError::Client(McpHttpError::Status(status.as_u16()))),
        }
    }
}
