//! The Unsplash client, which uses the key of the org that searches.
//!
//! It connects to one address that the operator chose, follows no redirect, because
//! that would pass the key on, and limits the size and time of an answer.

use std::fmt;
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::tool::Integration;
use ostler_engine::secret::{OrgSecrets, Secret, SecretError};
use ostler_http::{HttpSetupError, client_builder};
use ostler_store::{IntegrationConnection, Store, StoreError};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

/// The name of the integration that an org connects.
const SERVICE: &str = "unsplash";
const BASE_URL: &str = "https://api.unsplash.com/";
const VERSION: HeaderName = HeaderName::from_static("accept-version");
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The longest address of a picture, in bytes.
const MAX_URL_BYTES: usize = 1024;
/// Attempts when the connection fails.
const MAX_ATTEMPTS: usize = 2;

/// Why a search failed. The texts are for models; causes are for the log.
#[derive(Debug, thiserror::Error)]
pub enum UnsplashError {
    /// The org has not connected Unsplash, or has set no key.
    #[error("Unsplash is not connected here")]
    NotConnected,
    #[error("Unsplash cannot be used with the key that is set up here")]
    Key(#[from] SecretError),
    #[error("Unsplash does not accept the key that is set up here")]
    KeyRejected,
    #[error("Unsplash has reached its rate limit; try again later")]
    RateLimited,
    #[error("Unsplash answered with status {0}")]
    Status(u16),
    #[error("Unsplash did not answer in time")]
    TimedOut,
    #[error("Unsplash answered with more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("Unsplash gave an answer that cannot be read")]
    Malformed(#[source] serde_json::Error),
    #[error("Unsplash cannot be reached")]
    Network(#[source] reqwest::Error),
    #[error("the connection to Unsplash cannot be looked up at the moment")]
    Store(#[from] StoreError),
}

/// Why the client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum UnsplashSetupError {
    #[error(transparent)]
    Client(#[from] HttpSetupError),
    #[error("the address of Unsplash is not a valid URL: {0}")]
    Address(#[from] url::ParseError),
}

/// Options of the client.
#[derive(Debug, Clone)]
pub struct UnsplashOptions {
    pub base_url: String,
    /// The time limit of a search.
    pub timeout: Duration,
    /// Where orgs may keep their keys.
    pub secrets: OrgSecrets,
}

impl Default for UnsplashOptions {
    fn default() -> Self {
        Self { base_url: BASE_URL.to_owned(), timeout: TIMEOUT, secrets: OrgSecrets::default() }
    }
}

/// A client of Unsplash. Cheap to clone.
#[derive(Clone)]
pub struct Unsplash {
    client: Client,
    store: Store,
    search_url: Url,
    timeout: Duration,
    secrets: OrgSecrets,
}

impl fmt::Debug for Unsplash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsplash").field("search_url", &self.search_url).finish_non_exhaustive()
    }
}

/// A page of photos in the format of Unsplash.
#[derive(Debug, Deserialize)]
pub(super) struct PhotoPage {
    pub(super) total: u64,
    #[serde(default)]
    pub(super) total_pages: u64,
    pub(super) results: Vec<Photo>,
}

/// A photo in the format of Unsplash.
#[derive(Debug, Deserialize)]
pub(super) struct Photo {
    pub(super) id: String,
    pub(super) description: Option<String>,
    pub(super) alt_description: Option<String>,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) urls: Urls,
    pub(super) links: Links,
    pub(super) user: User,
}

impl Photo {
    /// Returns whether all its addresses are HTTPS and not too long.
    pub(super) fn has_safe_addresses(&self) -> bool {
        let Self { urls, links, user, .. } = self;
        let addresses = [&urls.regular, &urls.small, &links.html, &user.links.html];
        let secure = |text: &str| Url::parse(text).is_ok_and(|url| url.scheme() == "https");
        addresses.iter().all(|address| address.len() <= MAX_URL_BYTES && secure(address))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Urls {
    pub(super) regular: String,
    pub(super) small: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Links {
    pub(super) html: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) links: Links,
}

impl Unsplash {
    /// Creates a client that uses the keys of the orgs in the store.
    pub fn new(store: Store, options: UnsplashOptions) -> Result<Self, UnsplashSetupError> {
        let UnsplashOptions { base_url, timeout, secrets } = options;
        let search_url = Url::parse(&base_url)?.join("search/photos")?;
        let client = client_builder()?.connect_timeout(CONNECT_TIMEOUT).build();
        let client = client.map_err(HttpSetupError::from)?;
        Ok(Self { client, store, search_url, timeout, secrets })
    }

    /// Searches photos with the key of an org.
    pub(super) async fn search_photos(
        &self,
        org: OrgId,
        parameters: &[(&str, &str)],
    ) -> Result<PhotoPage, UnsplashError> {
        let key = self.key(org).await?;
        let mut url = self.search_url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        let result = tokio::time::timeout(self.timeout, self.get(url, &key)).await;
        result.unwrap_or(Err(UnsplashError::TimedOut))
    }

    async fn key(&self, org: OrgId) -> Result<Secret, UnsplashError> {
        let service = Integration::new(SERVICE);
        let connection = self.store.org(org).integration_by_service(&service).await?;
        let connected =
            connection.filter(|found| found.connection == IntegrationConnection::Connected);
        let secret = connected.and_then(|found| found.secret).ok_or(UnsplashError::NotConnected)?;
        Ok(self.secrets.read_key(org, &secret)?)
    }

    async fn get<T: DeserializeOwned>(&self, url: Url, key: &Secret) -> Result<T, UnsplashError> {
        let header = HeaderValue::from_str(&format!("Client-ID {}", key.expose()));
        let mut header = header.map_err(|_| UnsplashError::KeyRejected)?;
        header.set_sensitive(true);
        let mut attempt = 1;
        let response = loop {
            let request = self.client.get(url.clone()).header(AUTHORIZATION, &header);
            let request = request.header(ACCEPT, "application/json").header(VERSION, "v1");
            match request.send().await {
                Err(_) if attempt < MAX_ATTEMPTS => attempt += 1,
                result => break result.map_err(network_error)?,
            }
        };
        match response.status() {
            StatusCode::OK => {
                let bytes = read_limited(response).await?;
                serde_json::from_slice(&bytes).map_err(UnsplashError::Malformed)
            }
            StatusCode::UNAUTHORIZED => Err(UnsplashError::KeyRejected),
            StatusCode::TOO_MANY_REQUESTS => Err(UnsplashError::RateLimited),
            // Unsplash answers so when the hourly rate limit is reached.
            StatusCode::FORBIDDEN if is_rate_limited(&response) => Err(UnsplashError::RateLimited),
            StatusCode::FORBIDDEN => Err(UnsplashError::KeyRejected),
            other => Err(UnsplashError::Status(other.as_u16())),
        }
    }
}

fn is_rate_limited(response: &Response) -> bool {
    response.headers().get("x-ratelimit-remaining").is_some_and(|left| left.as_bytes() == b"0")
}

async fn read_limited(mut response: Response) -> Result<Vec<u8>, UnsplashError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(network_error)? {
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(UnsplashError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn network_error(error: reqwest::Error) -> UnsplashError {
    UnsplashError::Network(error.without_url())
}
