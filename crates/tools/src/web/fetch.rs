//! Fetches a page with GET requests and follows its redirects, checking each address.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ostler_http::client_builder;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};
use url::Url;

use super::policy::FetchPolicy;
use super::refusal::AddressRefused;
use super::resolver::{HostResolver, SystemResolver};

const MAX_REDIRECTS: usize = 5;
/// The most bytes of a page that are read.
const MAX_BYTES: usize = 2 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
/// The time limit of a fetch with all redirects.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Attempts per request when the connection fails.
const MAX_ATTEMPTS: usize = 2;
const USER_AGENT: &str = concat!("ostler/", env!("CARGO_PKG_VERSION"), " (web_fetch)");
const ACCEPTED_TYPES: &str =
    "text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8";

/// Why a page was not fetched. The texts are for models.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Refused(#[from] AddressRefused),
    #[error("there were more than {MAX_REDIRECTS} redirects")]
    TooManyRedirects,
    #[error("the server answered with status {0}")]
    Status(u16),
    /// The type or encoding of the content.
    #[error("it is not text but `{0}`")]
    NotText(String),
    #[error("it took longer than {} seconds", TOTAL_TIMEOUT.as_secs())]
    TimedOut,
    /// There was no connection, or it broke.
    #[error("the server cannot be reached")]
    Network(#[source] reqwest::Error),
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// The address after all redirects.
    pub url: Url,
    pub content_type: String,
    pub bytes: Vec<u8>,
    /// Whether the page has more bytes than were read.
    pub truncated: bool,
}

/// A client that fetches pages. Cheap to clone.
#[derive(Clone)]
pub struct Fetcher {
    client: Client,
    policy: FetchPolicy,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Fetcher {
    /// Creates a fetcher for the public internet.
    pub fn public() -> Result<Self, FetchError> {
        Self::new(FetchPolicy::public(), Arc::new(SystemResolver))
    }

    /// Creates a fetcher for the addresses that a policy allows.
    pub fn new(policy: FetchPolicy, resolver: Arc<dyn HostResolver>) -> Result<Self, FetchError> {
        let setup = |error: &dyn fmt::Display| FetchError::Setup(error.to_string());
        let client = policy
            .apply(client_builder().map_err(|error| setup(&error))?, resolver)
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| setup(&error))?;
        Ok(Self { client, policy })
    }

    /// Fetches a page. Fails if it is not text or not allowed.
    pub async fn fetch(&self, url: &str) -> Result<FetchedPage, FetchError> {
        let fetched = tokio::time::timeout(TOTAL_TIMEOUT, self.follow_redirects(url)).await;
        fetched.unwrap_or(Err(FetchError::TimedOut))
    }

    async fn follow_redirects(&self, url: &str) -> Result<FetchedPage, FetchError> {
        let mut url = self.policy.parse_url(url)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.get(&url).await?;
            let status = response.status();
            let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
            match location {
                Some(location) => {
                    let location = location.to_str().map_err(|_| AddressRefused::InvalidUrl)?;
                    url = self.policy.resolve_redirect(&url, location)?;
                }
                None if status.is_success() => return read_page(url, response).await,
                None => return Err(FetchError::Status(status.as_u16())),
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn get(&self, url: &Url) -> Result<Response, FetchError> {
        let mut attempt = 1;
        loop {
            let request = self.client.get(url.clone());
            let request =
                request.header(ACCEPT, ACCEPTED_TYPES).header(ACCEPT_ENCODING, "identity");
            match request.send().await.map_err(fetch_error) {
                Err(FetchError::Network(_)) if attempt < MAX_ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }
}

async fn read_page(url: Url, mut response: Response) -> Result<FetchedPage, FetchError> {
    let header = |name| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().trim().to_owned()
    };
    let (content_type, encoding) = (header(CONTENT_TYPE), header(CONTENT_ENCODING));
    if !is_text(&content_type) {
        return Err(FetchError::NotText(content_type.chars().take(100).collect()));
    }
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
        return Err(FetchError::NotText(encoding.chars().take(100).collect()));
    }
    let (mut bytes, mut truncated) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await.map_err(fetch_error)? {
        let room = MAX_BYTES - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            truncated = true;
            break;
        }
    }
    Ok(FetchedPage { url, content_type, bytes, truncated })
}

fn is_text(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some((top, sub)) = essence.split_once('/') else { return false };
    top == "text"
        || top == "application"
            && (["json", "xml", "yaml", "x-yaml", "toml", "javascript"].contains(&sub)
                || sub.ends_with("+json")
                || sub.ends_with("+xml"))
}

/// Converts an error. A refusal by the resolver is one of its nested causes.
fn fetch_error(error: reqwest::Error) -> FetchError {
    if let Some(refused) = AddressRefused::cause_of(&error) {
        return FetchError::Refused(refused);
    }
    if error.is_timeout() { FetchError::TimedOut } else { FetchError::Network(error.without_url()) }
}
