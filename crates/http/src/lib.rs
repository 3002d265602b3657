//! The set-up that all HTTP clients of the product share.
//!
//! Owns TLS (verified with the certificates of the machine, loaded once per process), the
//! user agent and the defaults that are safe for requests with secrets. Limits, address
//! checks and retries belong to the clients themselves.

use std::sync::{Arc, OnceLock};

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Why an HTTP client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    /// The certificates or ciphers of the machine cannot be used.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the HTTP client cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
}

/// Returns the builder from which every HTTP client is made. Its clients follow no
/// redirects, because a redirect could take a secret to another server, and send no
/// referrer.
pub fn client_builder() -> Result<ClientBuilder, HttpSetupError> {
    Ok(Client::builder()
        .tls_backend_preconfigured(tls_config()?)
        .redirect(Policy::none())
        .referer(false)
        .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION"))))
}

/// Lets libraries that make HTTP clients of their own use the same ciphers.
pub fn set_default_ciphers() {
    // Fails if they are set already.
    let _set_before = rustls::crypto::ring::default_provider().install_default();
}

/// Returns the TLS configuration; copies share the certificates and the sessions.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(CONFIG.get_or_init(|| config).clone())
}
