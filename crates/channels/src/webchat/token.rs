//! Tokens of visitors. A token identifies one visitor of one binding, and so the one
//! conversation that the visitor may read and write. The binding's secret signs it.

use std::time::Duration;

use ostler_domain::contact::normalize_email;
use ostler_domain::time::Timestamp;

use super::{VisitorTokenRequest, VisitorTokenResponse, Webchat};
use crate::encoding;
use crate::error::ReceiveError;
use crate::signature::{sign_for, verify_for};

const TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const TOKEN_PURPOSE: &str = "webchat visitor";
const IDENTITY_PURPOSE: &str = "webchat identity";

/// A visitor of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// An e-mail address if the page's server has proved it, otherwise a random id.
    pub identifier: String,
}

impl Webchat {
    /// Issues a token for the address that the page's server has proved, or for an
    /// anonymous visitor with the random id `visitor_id`. Fails if the proof is
    /// missing or invalid.
    pub fn issue_token(
        &self,
        request: &VisitorTokenRequest,
        visitor_id: u128,
        now: Timestamp,
    ) -> Result<VisitorTokenResponse, ReceiveError> {
        let identifier = match (&request.email, &request.proof) {
            (Some(email), Some(proof)) => self.verify_identity(email, proof)?,
            (Some(_), None) => return Err(ReceiveError::Unsigned("proof")),
            (None, _) => format!("{visitor_id:032x}"),
        };
        let expires = (now + TOKEN_LIFETIME).as_millis().div_euclid(1000);
        let text = format!("{}/{expires}/{identifier}", self.binding);
        let signature = sign_for(&self.secret, TOKEN_PURPOSE, text.as_bytes());
        let (text, signature) =
            (encoding::base64url_encode(text.as_bytes()), encoding::base64url_encode(&signature));
        Ok(VisitorTokenResponse { token: format!("{text}.{signature}") })
    }

    /// Verifies the proof of an address: HMAC-SHA256 with the binding's secret, in
    /// hexadecimal, over `webchat identity`, a zero byte and the address in lower
    /// case. Returns the normalized address.
    fn verify_identity(&self, email: &str, proof: &str) -> Result<String, ReceiveError> {
        let email = normalize_email(email).filter(|email| email.contains('@'));
        let email =
            email.ok_or_else(|| ReceiveError::BadBody("`email` is not an address".into()))?;
        let proof = encoding::hex_decode(proof).ok_or(ReceiveError::BadSignature)?;
        if !verify_for(&self.secret, IDENTITY_PURPOSE, email.as_bytes(), &proof) {
            return Err(ReceiveError::BadSignature);
        }
        Ok(email)
    }

    /// Returns the visitor of a token. Fails if it is invalid or has expired.
    pub fn verify_token(&self, token: &str, now: Timestamp) -> Result<Visitor, ReceiveError> {
        let parse = || {
            let (text, signature) = token.split_once('.')?;
            let (text, signature) =
                (encoding::base64url_decode(text)?, encoding::base64url_decode(signature)?);
            if !verify_for(&self.secret, TOKEN_PURPOSE, &text, &signature) {
                return None;
            }
            let text = String::from_utf8(text).ok()?;
            let (binding, rest) = text.split_once('/')?;
            let (expires, identifier) = rest.split_once('/')?;
            let expires = Timestamp::from_millis(expires.parse::<i64>().ok()?.checked_mul(1000)?);
            (binding == self.binding.to_string()).then(|| (expires, identifier.to_owned()))
        };
        let (expires, identifier) = parse().ok_or(ReceiveError::BadSignature)?;
        if now >= expires {
            return Err(ReceiveError::TokenExpired);
        }
        Ok(Visitor { identifier })
    }
}

#[cfg(test)]
mod tests {
    use super::{Visitor, VisitorTokenRequest, Webchat};
    use crate::encoding::hex_encode;
    use crate::error::ReceiveError;
    use crate::secret::ChannelSecret;
    use crate::signature::sign_for;
    use ostler_domain::id::BindingId;
    use ostler_domain::time::Timestamp;
    use proptest::prelude::{any, proptest};

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn chat(binding: u128, secret: &str) -> Webchat {
        Webchat::open(BindingId::from_u128(binding), "", || Ok(ChannelSecret::new(secret))).unwrap()
    }

    fn token(chat: &Webchat, visitor_id: u128) -> String {
        chat.issue_token(&VisitorTokenRequest::default(), visitor_id, NOW).unwrap().token
    }

    fn secret(start: &str) -> String {
        format!("{start}{}", "x".repeat(40))
    }

    #[test]
    fn a_token_identifies_one_visitor_of_one_binding_for_a_month() {
        let bella = chat(1, &secret("a"));
        let token = token(&bella, 7);
        let name = "00000000000000000000000000000007";
        assert_eq!(bella.verify_token(&token, NOW), Ok(Visitor { identifier: name.into() }));
        let later = |days: i64| Timestamp::from_millis(NOW.as_millis() + days * 86_400_000);
        assert!(bella.verify_token(&token, later(29)).is_ok());
        assert_eq!(bella.verify_token(&token, later(31)), Err(ReceiveError::TokenExpired));
        for other in [chat(2, &secret("a")), chat(1, &secret("b"))] {
            assert_eq!(other.verify_token(&token, NOW), Err(ReceiveError::BadSignature));
        }
        for nonsense in ["", ".", "a.b", "é", &token[1..], &token.replace('.', "")] {
            assert_eq!(
                bella.verify_token(nonsense, NOW),
                Err(ReceiveError::BadSignature),
                "{nonsense}"
            );
        }
    }

    #[test]
    fn a12_an_address_is_accepted_only_with_a_valid_proof() {
        let (key, bella) = (secret("a"), chat(1, &secret("a")));
        let proof = hex_encode(&sign_for(
            &ChannelSecret::new(key),
            "webchat identity",
            b"rosa@example.com",
        ));
        let issue = |email: &str, proof: Option<&str>| {
            let proof = proof.map(str::to_owned);
            bella.issue_token(&VisitorTokenRequest { email: Some(email.into()), proof }, 7, NOW)
        };
        let rosa = issue(" Rosa@Example.com", Some(&proof)).unwrap().token;
        assert_eq!(bella.verify_token(&rosa, NOW).unwrap().identifier, "rosa@example.com");
        let rejected = Err(ReceiveError::BadSignature);
        assert_eq!(issue("eve@example.com", Some(&proof)), rejected);
        for nonsense in ["", "zz", "abc", "éé"] {
            assert_eq!(issue("rosa@example.com", Some(nonsense)), rejected, "{nonsense}");
        }
        assert_eq!(issue("rosa@example.com", None), Err(ReceiveError::Unsigned("proof")));
        assert!(matches!(issue("rosa", Some(&proof)), Err(ReceiveError::BadBody(_))));
    }

    proptest! {
        #[test]
        fn a_changed_token_is_rejected(at in 0usize..100, by in 1u8..=255, visitor_id in any::<u128>()) {
            let bella = chat(1, &secret("a"));
            let mut token = token(&bella, visitor_id).into_bytes();
            let at = at % token.len();
            token[at] ^= by;
            if let Ok(changed) = String::from_utf8(token) {
                assert!(bella.verify_token(&changed, NOW).is_err());
            }
        }
    }
}
