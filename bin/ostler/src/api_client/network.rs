//! The API of a server, over the network.

use std::time::Duration;

use anyhow::anyhow;
use ostler_api::account::CSRF_HEADER;
use ostler_api::problem::{Problem, ProblemCode};
use reqwest::{Method, RequestBuilder, Response, header};

use super::contexts::{Context, Credential};
use super::{ApiRequest, ApiResponse};
use crate::random;

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take; a server gives up a little earlier.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(70);
/// The longest that a stream is read; a server ends it sooner.
const STREAM_TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);
/// The longest response that is read.
const MAX_RESPONSE: usize = 64 << 20;
/// How often a request is sent at most.
const ATTEMPTS: u32 = 3;
/// The wait before the second attempt, which doubles.
const RETRY_WAIT: Duration = Duration::from_millis(300);
/// The longest wait that a server may ask for.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The API of a server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct NetworkApi {
    url: String,
    credential: Option<Credential>,
    client: reqwest::Client,
}

impl NetworkApi {
    /// Returns the API of the server of a context.
    pub(crate) fn new(context: &Context) -> anyhow::Result<Self> {
        let mut api = Self::anonymous(&context.url)?;
        api.credential = Some(context.credential.clone());
        Ok(api)
    }

    /// Returns the API of a server for somebody who is not logged in.
    pub(crate) fn anonymous(url: &str) -> anyhow::Result<Self> {
        let client = ostler_http::client_builder()?
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .build()?;
        Ok(Self { url: url.to_owned(), credential: None, client })
    }

    /// Returns the address of the server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends a request. Only requests that do no harm twice are repeated: those that read, and
    /// those whose `Idempotency-Key` the server recognizes.
    pub(crate) async fn send(&self, request: &ApiRequest) -> anyhow::Result<ApiResponse> {
        let key = match &request.key {
            Some(key) => key.clone(),
            None => random::hex()?,
        };
        let is_repeatable = matches!(request.method, "GET" | "POST");
        let mut attempt = 1;
        loop {
            let is_last = attempt == ATTEMPTS;
            let wait = match self.request(request, &key)?.send().await {
                Ok(response) => match wait_of(&response, request.method).filter(|_| !is_last) {
                    Some(wait) => wait,
                    None => return self.read(response).await,
                },
                // Nothing was sent over a connection that was not opened.
                Err(error) if !is_last && (is_repeatable || error.is_connect()) => {
                    tracing::debug!(%error, attempt, "server not reached, will retry");
                    RETRY_WAIT * 2_u32.pow(attempt - 1)
                }
                Err(error) => return Err(self.unreachable(&error)),
            };
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    /// Opens a stream of events. A response that is none comes back whole.
    pub(super) async fn open_stream(
        &self,
        path: &str,
        after: Option<&str>,
    ) -> anyhow::Result<Result<Response, ApiResponse>> {
        let request = ApiRequest {
            method: "GET",
            path: path.to_owned(),
            body: Vec::new(),
            key: None,
            extra_time: Duration::ZERO,
        };
        let mut sent = self.request(&request, "")?.timeout(STREAM_TIMEOUT);
        if let Some(id) = after {
            sent = sent.header("last-event-id", id);
        }
        let sent = tokio::time::timeout(REQUEST_TIMEOUT, sent.send()).await;
        let response = match sent {
            Ok(response) => response.map_err(|error| self.unreachable(&error))?,
            Err(_) => return Err(anyhow!("{} does not answer in time", self.url)),
        };
        match response.status().is_success() {
            true => Ok(Ok(response)),
            false => Ok(Err(self.read(response).await?)),
        }
    }

    /// Logs in with a password. Returns the cookie and the response.
    pub(crate) async fn log_in(
        &self,
        request: &ApiRequest,
    ) -> anyhow::Result<(Option<String>, ApiResponse)> {
        let sent = self.request(request, "")?.send().await;
        let response = sent.map_err(|error| self.unreachable(&error))?;
        let cookies = response.headers().get_all(header::SET_COOKIE).iter();
        let mut pairs = cookies.filter_map(|cookie| {
            let text = cookie.to_str().ok()?;
            let pair = text.split(';').next()?;
            pair.contains("ostler_login=").then(|| pair.to_owned())
        });
        let cookie = pairs.next();
        Ok((cookie, self.read(response).await?))
    }

    fn request(&self, request: &ApiRequest, key: &str) -> anyhow::Result<RequestBuilder> {
        let method = Method::from_bytes(request.method.as_bytes())?;
        let is_post = method == Method::POST;
        let mut sent = self.client.request(method, format!("{}{}", self.url, request.path));
        if !request.extra_time.is_zero() {
            sent = sent.timeout(REQUEST_TIMEOUT + request.extra_time);
        }
        if is_post && !key.is_empty() {
            sent = sent.header("idempotency-key", key);
        }
        if !request.body.is_empty() {
            sent = sent.header(header::CONTENT_TYPE, "application/json");
        }
        sent = match &self.credential {
            Some(Credential::Key(key)) => sent.bearer_auth(key),
            Some(Credential::Cookie(cookie)) => {
                sent.header(header::COOKIE, cookie).header(CSRF_HEADER, "1")
            }
            None => sent,
        };
        Ok(sent.body(request.body.clone()))
    }

    async fn read(&self, mut response: Response) -> anyhow::Result<ApiResponse> {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        loop {
            let chunk = response.chunk().await.map_err(|error| self.unreachable(&error))?;
            let Some(chunk) = chunk else { break };
            anyhow::ensure!(
                body.len() + chunk.len() <= MAX_RESPONSE,
                "the answer of {} is too long; ask for less",
                self.url
            );
            body.extend_from_slice(&chunk);
        }
        Ok(ApiResponse { status, body })
    }

    /// Returns the error of a request that the server refused.
    pub(super) async fn explain(&self, problem: Problem) -> anyhow::Error {
        let url = &self.url;
        match problem.code {
            ProblemCode::Unauthorized if self.credential.is_some() => anyhow!(
                "{url} does not accept your log-in any more, it has ended or was revoked; log in \
                 again with `ostler login {url}`"
            ),
            ProblemCode::NotFound if problem.detail == "no such route" => {
                let server = self.version().await;
                let server = server
                    .map_or_else(|| "another version".to_owned(), |it| format!("version {it}"));
                anyhow!(
                    "{url} does not know this request: it runs {server} of ostler, and this is \
                     version {}; use the program of the server's version",
                    env!("CARGO_PKG_VERSION")
                )
            }
            _ => problem.into(),
        }
    }

    /// Returns the error of a response that is not as this version expects it.
    pub(super) async fn unreadable(&self, error: &serde_json::Error) -> anyhow::Error {
        let (url, own) = (&self.url, env!("CARGO_PKG_VERSION"));
        match self.version().await {
            Some(server) if server != own => anyhow!(
                "{url} runs version {server} of ostler, whose answer this version {own} cannot \
                 read; use the program of the server's version"
            ),
            _ => anyhow!("the answer of {url} cannot be read: {error}"),
        }
    }

    /// Returns the error of a response that no ostler server makes.
    pub(super) fn foreign_answer(&self, status: u16) -> anyhow::Error {
        let url = &self.url;
        match status {
            502..=504 => anyhow!(
                "the proxy in front of {url} cannot reach the server (status {status}); try again \
                 in a moment, or look at the server"
            ),
            _ => anyhow!(
                "{url} answers with status {status} and not as an ostler server does; check the \
                 address"
            ),
        }
    }

    /// Returns the version of the server, if it tells.
    async fn version(&self) -> Option<String> {
        let response = self.client.get(format!("{}/openapi.json", self.url)).send().await.ok()?;
        let body = self.read(response).await.ok()?.body;
        let document: serde_json::Value = serde_json::from_slice(&body).ok()?;
        document["info"]["version"].as_str().map(str::to_owned)
    }

    fn unreachable(&self, error: &reqwest::Error) -> anyhow::Error {
        let url = &self.url;
        let cause = std::iter::successors(std::error::Error::source(error), |it| it.source());
        let cause = cause.last().map_or_else(|| error.to_string(), ToString::to_string);
        if error.is_timeout() {
            return anyhow!(
                "{url} does not answer in time; it may have done what was asked, so look before \
                 you repeat it"
            );
        }
        if error.is_connect() {
            return anyhow!(
                "{url} cannot be reached: {cause}. Check the address, and that `ostler serve` runs there"
            );
        }
        anyhow!(
            "the connection to {url} broke off: {cause}; look whether it was done before you repeat it"
        )
    }
}

/// Returns how long to wait before a request is sent again, if the server asks for that and has
/// not begun it.
fn wait_of(response: &Response, method: &str) -> Option<Duration> {
    let status = response.status().as_u16();
    if status != 429 && !(status == 503 && method == "GET") {
        return None;
    }
    let header = response.headers().get(header::RETRY_AFTER)?;
    let seconds: u64 = header.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds)).filter(|wait| *wait <= MAX_WAIT)
}
