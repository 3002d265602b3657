//! Log-in with an identity provider: OpenID Connect, authorization code with PKCE.
//!
//! Nothing is stored between the two requests of a log-in: state, nonce and verifier are in
//! a cookie of the browser for ten minutes.
//!
//! | file | holds |
//! |---|---|
//! | `attempt` | the cookie between the two requests |
//! | `id_token` | checking what a provider says about a user |
//! | `provider` | discovery, keys and the exchange of a code |
//! | `routes` | the two requests |

mod attempt;
mod id_token;
mod provider;
pub(super) mod routes;

use std::fmt;

use self::provider::Provider;

/// An identity provider, from the configuration.
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    /// The name in paths.
    pub name: String,
    /// The URL of the issuer.
    pub issuer: String,
    pub client_id: String,
    /// None for a public client.
    pub client_secret: Option<ClientSecret>,
}

/// The secret of a client of an identity provider.
#[derive(Clone)]
pub struct ClientSecret(String);

impl ClientSecret {
    /// Wraps the text of a secret.
    pub const fn new(secret: String) -> Self {
        Self(secret)
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

/// The identity providers of an installation.
#[derive(Debug, Default)]
pub(crate) struct IdentityProviders(Vec<Provider>);

impl IdentityProviders {
    pub(crate) fn new(providers: &[IdentityProvider]) -> Self {
        Self(providers.iter().cloned().map(Provider::new).collect())
    }

    fn find(&self, name: &str) -> Option<&Provider> {
        self.0.iter().find(|provider| provider.name() == name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Provider::name)
    }
}

/// Why a log-in with an identity provider failed. The browser is told less.
#[derive(Debug, thiserror::Error)]
enum OidcError {
    #[error("the identity provider cannot be reached: {0}")]
    Unreachable(String),
    #[error("the identity provider answered {0}")]
    Refused(u16),
    #[error("the answer of the identity provider cannot be read: {0}")]
    Unreadable(String),
    #[error("the identity provider says that it is `{0}`")]
    OtherIssuer(String),
    #[error("the ID token is not valid: {0}")]
    Token(#[from] jsonwebtoken::errors::Error),
    #[error("the ID token is signed with a key or algorithm that is not accepted")]
    Key,
    #[error("the ID token belongs to another log-in or client")]
    OtherLogin,
}
