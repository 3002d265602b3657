//! Checks an ID token: signature, issuer, audience, expiry and nonce.

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

use super::OidcError;

/// The algorithms that are accepted: signatures with the private key of the provider.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// What an ID token says about a user.
#[derive(Debug, Deserialize)]
pub(super) struct IdClaims {
    /// The id of the user at the provider.
    pub(super) sub: String,
    nonce: Option<String>,
    /// The client that the token is for, if it has several audiences.
    azp: Option<String>,
    email: Option<String>,
    email_verified: Option<Verified>,
}

/// Some providers write a text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Verified {
    Flag(bool),
    Text(String),
}

impl IdClaims {
    /// Returns the e-mail address if the provider has verified it.
    pub(super) fn verified_email(&self) -> Option<&str> {
        let is_verified = match self.email_verified.as_ref()? {
            Verified::Flag(flag) => *flag,
            Verified::Text(text) => text == "true",
        };
        self.email.as_deref().filter(|_| is_verified)
    }
}

/// Returns the id of the key that a token is signed with, if it names one.
pub(super) fn key_id(token: &str) -> Result<Option<String>, OidcError> {
    Ok(decode_header(token)?.kid)
}

/// Returns the claims of a token that the issuer has signed for this client and log-in.
pub(super) fn check(
    token: &str,
    keys: &JwkSet,
    issuer: &str,
    client_id: &str,
    nonce: &str,
) -> Result<IdClaims, OidcError> {
    let header = decode_header(token)?;
    let key = match &header.kid {
        Some(id) => keys.find(id),
        None if keys.keys.len() == 1 => keys.keys.first(),
        None => None,
    };
    let key = key.filter(|_| ALGORITHMS.contains(&header.alg)).ok_or(OidcError::Key)?;
    let mut validation = Validation::new(header.alg);
    validation.set_issuer(&[issuer]);
    validation.set_audience(&[client_id]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    let claims = decode::<IdClaims>(token, &DecodingKey::from_jwk(key)?, &validation)?.claims;
    let is_ours = claims.azp.as_deref().is_none_or(|azp| azp == client_id);
    if claims.nonce.as_deref() != Some(nonce) || !is_ours {
        return Err(OidcError::OtherLogin);
    }
    Ok(claims)
}
