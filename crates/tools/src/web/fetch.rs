//! Fetching a page: one GET after the other along its redirects, each checked.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::redirect;
use reqwest::{Client, Response};
use url::Url;

use super::address::Refused;
use super::resolve::{Checked, Lookup, SystemLookup};
use super::target::Policy;
use super::tls;

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The most bytes of a page that are read; the rest is left.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// How long a connection may take, and all hops together.
const CONNECT: Duration = Duration::from_secs(8);
const ALTOGETHER: Duration = Duration::from_secs(20);
/// How often a page is asked for when the connection fails.
const TRIES: usize = 2;
const AGENT: &str = concat!("ostler/", env!("CARGO_PKG_VERSION"), " (web_fetch)");
const TEXTS: &str = "text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8";

/// Why a page was not fetched. The words are for a model.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It may not be fetched.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It leads on and on.
    #[error("the page leads to another more than {MAX_REDIRECTS} times")]
    TooManyRedirects,
    /// The server does not give it.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// It is not text.
    #[error("it is not a page of text but `{0}`")]
    NotText(String),
    /// It took too long.
    #[error("it took longer than {} seconds", ALTOGETHER.as_secs())]
    TimedOut,
    /// The server cannot be reached, or the connection broke.
    #[error("the server cannot be reached")]
    Network(#[source] reqwest::Error),
    /// There is no way to make connections at all.
    #[error("no connections can be made: {0}")]
    Setup(String),
}

/// A page that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where it was in the end.
    pub url: Url,
    /// What the server says it is.
    pub content_type: String,
    /// Its bytes, as many as are read.
    pub bytes: Vec<u8>,
    /// Whether there are more.
    pub cut: bool,
}

/// Fetches pages. Cheap to clone.
#[derive(Clone)]
pub struct Fetcher {
    client: Client,
    policy: Policy,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Fetcher {
    /// Fetches from the public internet.
    pub fn public() -> Result<Self, FetchError> {
        Self::new(Policy::public(), Arc::new(SystemLookup))
    }

    /// Fetches what a policy allows, by the names that a look-up knows.
    pub fn new(policy: Policy, lookup: Arc<dyn Lookup>) -> Result<Self, FetchError> {
        let setup = |error: &dyn fmt::Display| FetchError::Setup(error.to_string());
        let tls = tls::client().map_err(|error| setup(&error))?;
        let checked = Checked { policy: policy.clone(), lookup };
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(Arc::new(checked))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent(AGENT)
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| setup(&error))?;
        Ok(Self { client, policy })
    }

    /// Fetches a page of text.
    pub async fn fetch(&self, url: &str) -> Result<Fetched, FetchError> {
        let fetched = tokio::time::timeout(ALTOGETHER, self.follow(url)).await;
        fetched.unwrap_or(Err(FetchError::TimedOut))
    }

    async fn follow(&self, url: &str) -> Result<Fetched, FetchError> {
        let mut url = self.policy.target(url)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.get(&url).await?;
            let status = response.status();
            let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
            match location {
                Some(location) => {
                    let location = location.to_str().map_err(|_| Refused::NotAUrl)?;
                    url = self.policy.redirect(&url, location)?;
                }
                None if status.is_success() => return read(url, response).await,
                None => return Err(FetchError::Status(status.as_u16())),
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn get(&self, url: &Url) -> Result<Response, FetchError> {
        let mut tried = 1;
        loop {
            let request = self.client.get(url.clone());
            let request = request.header(ACCEPT, TEXTS).header(ACCEPT_ENCODING, "identity");
            match request.send().await.map_err(failed) {
                Err(FetchError::Network(_)) if tried < TRIES => tried += 1,
                answered => return answered,
            }
        }
    }
}

async fn read(url: Url, mut response: Response) -> Result<Fetched, FetchError> {
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
    let (mut bytes, mut cut) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        let room = MAX_BYTES - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    Ok(Fetched { url, content_type, bytes, cut })
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

/// What a failure comes to. A refusal by the look-up is wrapped deep inside.
fn failed(error: reqwest::Error) -> FetchError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(one) = cause {
        if let Some(refused) = one.downcast_ref::<Refused>() {
            return FetchError::Refused(refused.clone());
        }
        cause = one.source();
    }
    if error.is_timeout() { FetchError::TimedOut } else { FetchError::Network(error.without_url()) }
}
