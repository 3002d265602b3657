//! A connection to an identity provider: discovery, keys, and the exchange of a code.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::jwk::JwkSet;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::attempt::LoginAttempt;
use super::id_token::{self, IdClaims};
use super::{IdentityProvider, OidcError};

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// How long what a provider says about itself is used.
const METADATA_AGE: Duration = Duration::from_secs(3600);
/// How often keys are read again at most because a token names an unknown one.
const REFRESH_PAUSE: Duration = Duration::from_secs(60);

/// What a provider says about itself.
#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

/// What was read from a provider, and when.
#[derive(Debug, Clone)]
struct ProviderState {
    metadata: Metadata,
    keys: JwkSet,
    read_at: Instant,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

/// An identity provider, and what it said about itself.
#[derive(Debug)]
pub(super) struct Provider {
    options: IdentityProvider,
    known: Mutex<Option<ProviderState>>,
}

impl Provider {
    pub(super) fn new(options: IdentityProvider) -> Self {
        Self { options, known: Mutex::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.options.name
    }

    pub(super) fn issuer(&self) -> &str {
        &self.options.issuer
    }

    /// Returns the URL to which the browser is sent.
    pub(super) async fn authorization_url(
        &self,
        attempt: &LoginAttempt,
        redirect_uri: &str,
    ) -> Result<Url, OidcError> {
        let ProviderState { metadata, .. } = self.known(METADATA_AGE).await?;
        let unreadable = |error: url::ParseError| OidcError::Unreadable(error.to_string());
        let mut url = Url::parse(&metadata.authorization_endpoint).map_err(unreadable)?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.options.client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", "openid email")
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// Exchanges a code for an ID token, and returns what it says.
    pub(super) async fn exchange(
        &self,
        code: &str,
        attempt: &LoginAttempt,
        redirect_uri: &str,
    ) -> Result<IdClaims, OidcError> {
        let ProviderState { metadata, .. } = self.known(METADATA_AGE).await?;
        let client_id = &self.options.client_id;
        let form = Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("client_id", client_id)
            .append_pair("code_verifier", &attempt.verifier)
            .finish();
        let mut request = client()?
            .post(&metadata.token_endpoint)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(secret) = &self.options.client_secret {
            let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encode(client_id), encode(&secret.0));
            request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
        }
        let Tokens { id_token } = read(request.body(form)).await?;
        let keys = self.keys_for(&id_token).await?;
        id_token::check(&id_token, &keys, &metadata.issuer, client_id, &attempt.nonce)
    }

    /// Returns the keys of the provider; they are read again if a token names another one.
    async fn keys_for(&self, token: &str) -> Result<JwkSet, OidcError> {
        let keys = self.known(METADATA_AGE).await?.keys;
        match id_token::key_id(token)? {
            Some(id) if keys.find(&id).is_none() => Ok(self.known(REFRESH_PAUSE).await?.keys),
            _ => Ok(keys),
        }
    }

    /// Returns what the provider said about itself, not longer ago than this.
    async fn known(&self, max_age: Duration) -> Result<ProviderState, OidcError> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.read_at.elapsed() < max_age) {
            return Ok(known.clone());
        }
        let issuer = self.options.issuer.trim_end_matches('/');
        let address = format!("{issuer}/.well-known/openid-configuration");
        let metadata: Metadata = read(client()?.get(address)).await?;
        if metadata.issuer.trim_end_matches('/') != issuer {
            return Err(OidcError::OtherIssuer(metadata.issuer));
        }
        let keys = read(client()?.get(&metadata.jwks_uri)).await?;
        Ok(known.insert(ProviderState { metadata, keys, read_at: Instant::now() }).clone())
    }
}

fn client() -> Result<Client, OidcError> {
    let unreachable = |error: &dyn std::fmt::Display| OidcError::Unreachable(error.to_string());
    let builder = ostler_http::client_builder().map_err(|error| unreachable(&error))?;
    builder.timeout(TIMEOUT).build().map_err(|error| unreachable(&error))
}

/// Sends a request and reads a JSON answer of limited size.
async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, OidcError> {
    // The URL of the error holds no secret: codes are in bodies.
    let unreachable = |error: reqwest::Error| OidcError::Unreachable(error.to_string());
    let request = request.header(ACCEPT, "application/json");
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    if !status.is_success() {
        return Err(OidcError::Refused(status.as_u16()));
    }
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&part);
        if body.len() > MAX_ANSWER_BYTES {
            return Err(OidcError::Unreadable("it is too large".to_owned()));
        }
    }
    serde_json::from_slice(&body).map_err(|error| OidcError::Unreadable(error.to_string()))
}
