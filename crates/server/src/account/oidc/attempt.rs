//! What a browser keeps between the two requests of a log-in: the random values that tie
//! them together. No page can read the cookie, and the provider does not get the verifier.

use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ostler_api::problem::ProblemCode;
use sha2::{Digest, Sha256};

use crate::account::cookie::{self, CookieTransport};
use crate::error::{ApiError, Result};

const NAME: &str = "ostler_oidc";
const MAX_AGE_SECS: u64 = 600;

/// A log-in that was begun.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct LoginAttempt {
    /// Returned by the provider.
    pub(super) state: String,
    /// Repeated in the ID token.
    pub(super) nonce: String,
    /// Shown to the provider with the code; before that, it knows only its hash.
    pub(super) verifier: String,
}

impl LoginAttempt {
    pub(super) fn random() -> Result<Self> {
        Ok(Self { state: random()?, nonce: random()?, verifier: random()? })
    }

    /// Returns the PKCE challenge (S256).
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }

    pub(super) fn read(transport: CookieTransport, headers: &HeaderMap) -> Option<Self> {
        let value = cookie::find(headers, &transport.prefixed(NAME))?;
        let mut parts = value.split('.').map(str::to_owned);
        let attempt = Self { state: parts.next()?, nonce: parts.next()?, verifier: parts.next()? };
        parts.next().is_none().then_some(attempt)
    }

    pub(super) fn set(&self, transport: CookieTransport) -> Result<HeaderValue> {
        let Self { state, nonce, verifier } = self;
        let value = format!("{state}.{nonce}.{verifier}");
        transport.header(NAME, &value, MAX_AGE_SECS)
    }

    pub(super) fn clear(transport: CookieTransport) -> Result<HeaderValue> {
        transport.header(NAME, "", 0)
    }
}

fn random() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| {
        ApiError::new(ProblemCode::Internal, "the operating system provides no random numbers")
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::LoginAttempt;
    use crate::account::cookie::CookieTransport::{LocalMachine, Tls};

    #[test]
    fn s13_an_attempt_is_read_back_from_its_cookie() {
        for transport in [Tls, LocalMachine] {
            let attempt = LoginAttempt::random().ok().unwrap();
            let set = attempt.set(transport).ok().unwrap();
            let cookie = set.to_str().unwrap().split(';').next().unwrap().to_owned();
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, cookie.parse().unwrap());
            assert!(LoginAttempt::read(transport, &headers) == Some(attempt));
        }
        let other = LoginAttempt::random().ok().unwrap();
        assert!(LoginAttempt::random().ok().unwrap() != other);
    }

    #[test]
    fn s13_the_challenge_is_the_one_of_the_standard() {
        let attempt = LoginAttempt {
            state: String::new(),
            nonce: String::new(),
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into(),
        };
        assert_eq!(attempt.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
