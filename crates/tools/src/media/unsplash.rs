//! Asking Unsplash for pictures, with the key of the org that asks.
//!
//! It goes to one address that the operator chose, follows no redirect, since the
//! key would go along, and reads so much for so long.

use std::fmt;
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::tool::Integration;
use ostler_engine::secret::{NoSecret, OrgSecrets, Secret};
use ostler_store::{Connection, Store, StoreError};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, redirect};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::web::tls;

/// The service, as orgs connect it.
const SERVICE: &str = "unsplash";
/// Where it is.
const ADDRESS: &str = "https://api.unsplash.com/";
const VERSION: HeaderName = HeaderName::from_static("accept-version");
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(10);
/// The most bytes of an answer.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The longest address of a picture.
const MAX_ADDRESS: usize = 1024;
/// How often it is asked when there is no connection.
const TRIES: usize = 2;

/// Why there are no pictures. The words are for a model; causes are for the log.
#[derive(Debug, thiserror::Error)]
pub enum UnsplashError {
    /// The org has not connected it, or without a key.
    #[error("Unsplash is not connected here")]
    NotConnected,
    /// The key cannot be read.
    #[error("Unsplash cannot be used with the key that is set up here")]
    Key(#[from] NoSecret),
    /// It does not take the key.
    #[error("Unsplash does not accept the key that is set up here")]
    Refused,
    /// It was asked too often.
    #[error("Unsplash was asked too often; it can be asked again later")]
    TooOften,
    /// It answered with another status.
    #[error("Unsplash answered with status {0}")]
    Status(u16),
    /// It did not answer in time.
    #[error("Unsplash did not answer in time")]
    TimedOut,
    /// It answered with too much.
    #[error("Unsplash answered with more than {MAX_BYTES} bytes")]
    TooLarge,
    /// It answered with something else.
    #[error("Unsplash gave no answer that can be understood")]
    Malformed(#[source] serde_json::Error),
    /// It cannot be reached.
    #[error("Unsplash cannot be reached")]
    Network(#[source] reqwest::Error),
    /// The connection cannot be looked up.
    #[error("Unsplash cannot be looked up at the moment")]
    Store(#[from] StoreError),
}

/// Why there is no client at all.
#[derive(Debug, thiserror::Error)]
pub enum UnsplashSetup {
    /// The certificates of the machine, or the ciphers, cannot be used.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The client itself.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
    /// The address is none.
    #[error("the address of Unsplash cannot be used: {0}")]
    Address(#[from] url::ParseError),
}

/// Where and how Unsplash is asked.
#[derive(Debug, Clone)]
pub struct UnsplashOptions {
    /// Its address.
    pub address: String,
    /// How long an answer may take.
    pub within: Duration,
    /// What orgs may name as the place of their key.
    pub secrets: OrgSecrets,
}

impl Default for UnsplashOptions {
    fn default() -> Self {
        Self { address: ADDRESS.to_owned(), within: WITHIN, secrets: OrgSecrets::default() }
    }
}

/// Asks Unsplash. Cheap to clone.
#[derive(Clone)]
pub struct Unsplash {
    client: Client,
    store: Store,
    search: Url,
    within: Duration,
    secrets: OrgSecrets,
}

impl fmt::Debug for Unsplash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsplash").field("search", &self.search).finish_non_exhaustive()
    }
}

/// A page of pictures, as Unsplash writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Photos {
    pub(super) total: u64,
    #[serde(default)]
    pub(super) total_pages: u64,
    pub(super) results: Vec<Photo>,
}

/// A picture, as Unsplash writes it.
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
    /// Whether all its addresses are ones that can be opened safely.
    pub(super) fn is_on_the_web(&self) -> bool {
        let Self { urls, links, user, .. } = self;
        let addresses = [&urls.regular, &urls.small, &links.html, &user.links.html];
        let secure = |text: &str| Url::parse(text).is_ok_and(|url| url.scheme() == "https");
        addresses.iter().all(|address| address.len() <= MAX_ADDRESS && secure(address))
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
    /// Asks with the keys that the orgs of this store have set up.
    pub fn new(store: Store, options: UnsplashOptions) -> Result<Self, UnsplashSetup> {
        let UnsplashOptions { address, within, secrets } = options;
        let search = Url::parse(&address)?.join("search/photos")?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls::client()?)
            .redirect(redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .build()?;
        Ok(Self { client, store, search, within, secrets })
    }

    /// Pictures for an org.
    pub(super) async fn photos(
        &self,
        org: OrgId,
        wanted: &[(&str, &str)],
    ) -> Result<Photos, UnsplashError> {
        let key = self.key(org).await?;
        let mut url = self.search.clone();
        url.query_pairs_mut().extend_pairs(wanted);
        let answered = tokio::time::timeout(self.within, self.get(url, &key)).await;
        answered.unwrap_or(Err(UnsplashError::TimedOut))
    }

    async fn key(&self, org: OrgId) -> Result<Secret, UnsplashError> {
        let service = Integration::new(SERVICE);
        let connection = self.store.org(org).integration_with(&service).await?;
        let connected = connection.filter(|found| found.connection == Connection::Connected);
        let at = connected.and_then(|found| found.secret).ok_or(UnsplashError::NotConnected)?;
        Ok(self.secrets.read_key(org, &at)?)
    }

    async fn get<T: DeserializeOwned>(&self, url: Url, key: &Secret) -> Result<T, UnsplashError> {
        let header = HeaderValue::from_str(&format!("Client-ID {}", key.expose()));
        let mut header = header.map_err(|_| UnsplashError::Refused)?;
        header.set_sensitive(true);
        let mut tried = 1;
        let response = loop {
            let request = self.client.get(url.clone()).header(AUTHORIZATION, &header);
            let request = request.header(ACCEPT, "application/json").header(VERSION, "v1");
            match request.send().await {
                Err(_) if tried < TRIES => tried += 1,
                answered => break answered.map_err(network)?,
            }
        };
        match response.status() {
            StatusCode::OK => {
                let bytes = bounded(response).await?;
                serde_json::from_slice(&bytes).map_err(UnsplashError::Malformed)
            }
            StatusCode::UNAUTHORIZED => Err(UnsplashError::Refused),
            StatusCode::TOO_MANY_REQUESTS => Err(UnsplashError::TooOften),
            // Unsplash says so when the requests of an hour are used up.
            StatusCode::FORBIDDEN if used_up(&response) => Err(UnsplashError::TooOften),
            StatusCode::FORBIDDEN => Err(UnsplashError::Refused),
            other => Err(UnsplashError::Status(other.as_u16())),
        }
    }
}

fn used_up(response: &Response) -> bool {
    response.headers().get("x-ratelimit-remaining").is_some_and(|left| left.as_bytes() == b"0")
}

async fn bounded(mut response: Response) -> Result<Vec<u8>, UnsplashError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(network)? {
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(UnsplashError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn network(error: reqwest::Error) -> UnsplashError {
    UnsplashError::Network(error.without_url())
}
