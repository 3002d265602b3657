//! Credentials of visitors. A token identifies one visitor of one binding, and so the one
//! conversation that the visitor may read and write; it is sent in a header only. A ticket is
//! for one use in a URL and expires soon. The binding's secret signs both.

use std::time::Duration;

use ostler_domain::contact::normalize_email;
use ostler_domain::id::BlobId;
use ostler_domain::time::Timestamp;

use super::{VisitorTokenRequest, VisitorTokenResponse, Webchat};
use crate::encoding;
use crate::error::ReceiveError;
use crate::signature::{sign_for, verify_for};

/// How long a token of an anonymous visitor is valid.
const TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How far ahead the proof of an address may expire. Its token expires with it.
const MAX_PROOF_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a page has to open a stream.
const STREAM_TICKET_LIFETIME: Duration = Duration::from_secs(60);
/// How long a page has to open a file that it was told of.
const FILE_TICKET_LIFETIME: Duration = Duration::from_secs(60 * 60);

const TOKEN_PURPOSE: &str = "webchat visitor";
const IDENTITY_PURPOSE: &str = "webchat identity";
const STREAM_PURPOSE: &str = "webchat stream";

/// A visitor of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// An e-mail address if the page's server has proved it, otherwise a random id.
    pub identifier: String,
}

impl Webchat {
    /// Issues a token for the address that the page's server has proved, or for an
    /// anonymous visitor with the random id `visitor_id`. Fails if the proof is
    /// missing, invalid or expired.
    pub fn issue_token(
        &self,
        request: &VisitorTokenRequest,
        visitor_id: u128,
        now: Timestamp,
    ) -> Result<VisitorTokenResponse, ReceiveError> {
        let (identifier, expires) = match (&request.email, &request.proof, request.expires) {
            (Some(email), Some(proof), Some(expires)) => {
                (self.verify_identity(email, proof, expires, now)?, expires)
            }
            (Some(_), None, _) => return Err(ReceiveError::Unsigned("proof")),
            (Some(_), _, None) => return Err(ReceiveError::Unsigned("expires")),
            (None, ..) => (format!("{visitor_id:032x}"), seconds(now + TOKEN_LIFETIME)),
        };
        Ok(VisitorTokenResponse { token: self.sign(TOKEN_PURPOSE, expires, &identifier) })
    }

    /// Verifies the proof of an address: HMAC-SHA256 with the binding's secret, in
    /// hexadecimal, over `webchat identity`, a zero byte, the address in lower case, a zero
    /// byte and the seconds since 1970 at which it expires. Returns the normalized address.
    fn verify_identity(
        &self,
        email: &str,
        proof: &str,
        expires: i64,
        now: Timestamp,
    ) -> Result<String, ReceiveError> {
        let email = normalize_email(email).filter(|email| email.contains('@'));
        let email =
            email.ok_or_else(|| ReceiveError::BadBody("`email` is not an address".into()))?;
        let proof = encoding::hex_decode(proof).ok_or(ReceiveError::BadSignature)?;
        let text = format!("{email}\0{expires}");
        let is_signed = |secret| verify_for(secret, IDENTITY_PURPOSE, text.as_bytes(), &proof);
        if !self.secrets.iter().any(is_signed) || expires > seconds(now + MAX_PROOF_LIFETIME) {
            return Err(ReceiveError::BadSignature);
        }
        if expires <= seconds(now) {
            return Err(ReceiveError::ProofExpired);
        }
        Ok(email)
    }

    /// Returns the visitor of a token. Fails if it is invalid or has expired.
    pub fn verify_token(&self, token: &str, now: Timestamp) -> Result<Visitor, ReceiveError> {
        self.verify(TOKEN_PURPOSE, token, now)
    }

    /// Returns a ticket with which a page opens the stream of a visitor.
    pub fn stream_ticket(&self, visitor: &Visitor, now: Timestamp) -> String {
        let expires = seconds(now + STREAM_TICKET_LIFETIME);
        self.sign(STREAM_PURPOSE, expires, &visitor.identifier)
    }

    /// Returns the visitor of a ticket for a stream. Fails if it is invalid or has expired.
    pub fn verify_stream_ticket(
        &self,
        ticket: &str,
        now: Timestamp,
    ) -> Result<Visitor, ReceiveError> {
        self.verify(STREAM_PURPOSE, ticket, now)
    }

    /// Returns a ticket with which a page of a visitor opens one file.
    pub fn file_ticket(&self, visitor: &Visitor, file: BlobId, now: Timestamp) -> String {
        let expires = seconds(now + FILE_TICKET_LIFETIME);
        self.sign(&file_purpose(file), expires, &visitor.identifier)
    }

    /// Returns the visitor of a ticket for a file. Fails if it is invalid, for another file,
    /// or has expired.
    pub fn verify_file_ticket(
        &self,
        ticket: &str,
        file: BlobId,
        now: Timestamp,
    ) -> Result<Visitor, ReceiveError> {
        self.verify(&file_purpose(file), ticket, now)
    }

    /// Signs a visitor for one purpose, with the first secret.
    fn sign(&self, purpose: &str, expires: i64, identifier: &str) -> String {
        let text = format!("{}/{expires}/{identifier}", self.binding);
        let secret = self.secrets.first();
        let signature = secret.map(|secret| sign_for(secret, purpose, text.as_bytes()));
        let encode = |bytes: &[u8]| encoding::base64url_encode(bytes);
        format!("{}.{}", encode(text.as_bytes()), encode(&signature.unwrap_or_default()))
    }

    /// Verifies what one of the secrets has signed for this purpose.
    fn verify(&self, purpose: &str, signed: &str, now: Timestamp) -> Result<Visitor, ReceiveError> {
        let parse = || {
            let (text, signature) = signed.split_once('.')?;
            let (text, signature) =
                (encoding::base64url_decode(text)?, encoding::base64url_decode(signature)?);
            let mut secrets = self.secrets.iter();
            if !secrets.any(|secret| verify_for(secret, purpose, &text, &signature)) {
                return None;
            }
            let text = String::from_utf8(text).ok()?;
            let (binding, rest) = text.split_once('/')?;
            let (expires, identifier) = rest.split_once('/')?;
            let expires: i64 = expires.parse().ok()?;
            (binding == self.binding.to_string()).then(|| (expires, identifier.to_owned()))
        };
        let (expires, identifier) = parse().ok_or(ReceiveError::BadSignature)?;
        if seconds(now) >= expires {
            return Err(ReceiveError::TokenExpired);
        }
        Ok(Visitor { identifier })
    }
}

/// Returns seconds since 1970.
const fn seconds(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(1000)
}

/// A ticket for one file is not valid for another.
fn file_purpose(file: BlobId) -> String {
    format!("webchat file {file}")
}

#[cfg(test)]
mod tests {
    use super::{Visitor, VisitorTokenRequest, Webchat};
    use crate::encoding::hex_encode;
    use crate::error::ReceiveError;
    use crate::secret::ChannelSecret;
    use crate::signature::sign_for;
    use ostler_domain::id::{BindingId, BlobId};
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

    fn proof(secret: &str, email: &str, expires: i64) -> String {
        let text = format!("{email}\0{expires}");
        hex_encode(&sign_for(&ChannelSecret::new(secret), "webchat identity", text.as_bytes()))
    }

    /// A12, S10: an address needs a proof that has not expired, and its token expires with it.
    #[test]
    fn s10_an_address_is_accepted_only_with_a_valid_proof() {
        let (key, bella) = (secret("a"), chat(1, &secret("a")));
        let soon = NOW.as_millis() / 1000 + 600;
        let valid = proof(&key, "rosa@example.com", soon);
        let issue = |email: &str, proof: Option<&str>, expires: Option<i64>| {
            let (email, proof) = (Some(email.into()), proof.map(str::to_owned));
            bella.issue_token(&VisitorTokenRequest { email, proof, expires }, 7, NOW)
        };
        let rosa = issue(" Rosa@Example.com", Some(&valid), Some(soon)).unwrap().token;
        assert_eq!(bella.verify_token(&rosa, NOW).unwrap().identifier, "rosa@example.com");
        let later = Timestamp::from_millis(soon * 1000);
        assert_eq!(bella.verify_token(&rosa, later), Err(ReceiveError::TokenExpired));
        let rejected = Err(ReceiveError::BadSignature);
        assert_eq!(issue("eve@example.com", Some(&valid), Some(soon)), rejected);
        assert_eq!(issue("rosa@example.com", Some(&valid), Some(soon + 1)), rejected);
        for nonsense in ["", "zz", "abc", "éé"] {
            assert_eq!(issue("rosa@example.com", Some(nonsense), Some(soon)), rejected);
        }
        assert_eq!(issue("rosa@example.com", None, None), Err(ReceiveError::Unsigned("proof")));
        let unlimited = issue("rosa@example.com", Some(&valid), None);
        assert_eq!(unlimited, Err(ReceiveError::Unsigned("expires")));
        assert!(matches!(issue("rosa", Some(&valid), Some(soon)), Err(ReceiveError::BadBody(_))));
        for (expires, expected) in [
            (soon - 601, ReceiveError::ProofExpired),
            (soon + 2 * 86_400, ReceiveError::BadSignature),
        ] {
            let signed = proof(&key, "rosa@example.com", expires);
            let refused = issue("rosa@example.com", Some(&signed), Some(expires));
            assert_eq!(refused, Err(expected), "{expires}");
        }
    }

    /// S10: a ticket is for one purpose and one file, and expires soon.
    #[test]
    fn s10_a_ticket_opens_one_thing_for_a_short_time() {
        let bella = chat(1, &secret("a"));
        let rosa = Visitor { identifier: "rosa@example.com".into() };
        let (photo, other) = (BlobId::from_u128(1), BlobId::from_u128(2));
        let stream = bella.stream_ticket(&rosa, NOW);
        let file = bella.file_ticket(&rosa, photo, NOW);
        let after = |secs: i64| Timestamp::from_millis(NOW.as_millis() + secs * 1000);
        assert_eq!(bella.verify_stream_ticket(&stream, after(59)), Ok(rosa.clone()));
        assert_eq!(bella.verify_file_ticket(&file, photo, after(3599)), Ok(rosa));
        let expired = Err(ReceiveError::TokenExpired);
        assert_eq!(bella.verify_stream_ticket(&stream, after(60)), expired);
        assert_eq!(bella.verify_file_ticket(&file, photo, after(3600)), expired);
        let rejected = Err(ReceiveError::BadSignature);
        assert_eq!(bella.verify_file_ticket(&file, other, NOW), rejected);
        assert_eq!(bella.verify_file_ticket(&stream, photo, NOW), rejected);
        assert_eq!(bella.verify_stream_ticket(&file, NOW), rejected);
        assert_eq!(bella.verify_token(&stream, NOW), rejected, "a ticket is no token");
        assert_eq!(bella.verify_stream_ticket(&token(&bella, 7), NOW), rejected);
    }

    /// S10: while secrets are rotated, the first signs and each is accepted.
    #[test]
    fn s10_two_secrets_are_accepted_while_they_are_rotated() {
        let (old, new) = (secret("a"), secret("b"));
        let both = chat(1, &format!("{new}\n{old}"));
        let of_old = token(&chat(1, &old), 7);
        assert!(both.verify_token(&of_old, NOW).is_ok());
        let of_both = token(&both, 7);
        assert!(chat(1, &new).verify_token(&of_both, NOW).is_ok());
        assert!(chat(1, &old).verify_token(&of_both, NOW).is_err());
        let soon = NOW.as_millis() / 1000 + 600;
        for key in [old, new] {
            let proof = Some(proof(&key, "rosa@example.com", soon));
            let (email, expires) = (Some("rosa@example.com".into()), Some(soon));
            let request = VisitorTokenRequest { email, proof, expires };
            assert!(both.issue_token(&request, 7, NOW).is_ok());
        }
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
