//! Signatures of Standard Webhooks, in both directions.
//!
//! The text `id.timestamp.body` is signed by HMAC-SHA256. During a rotation there
//! are several keys: each of them signs, and any of them is accepted.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use ostler_domain::time::Timestamp;
use sha2::Sha256;

use crate::encoding;
use crate::error::ReceiveError;
use crate::secret::ChannelSecret;

/// The header with the id of a message, which is the same for every attempt.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the time of the signature, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// The maximum difference between the time of the signature and now.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// The allowed lengths of a key.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 16..=128;

/// The keys that sign and verify the requests of one binding.
#[derive(Clone)]
pub struct SigningKeys(Vec<Vec<u8>>);

impl std::fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKeys({}, …)", self.0.len())
    }
}

/// A request with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedRequest {
    /// The id of the message, which is the same for every attempt.
    pub id: String,
}

impl SigningKeys {
    /// Parses one or more keys of the form `whsec_…`, separated by white space.
    /// Returns `None` if there is none or if any is invalid.
    pub fn parse(secret: &ChannelSecret) -> Option<Self> {
        let key = |text: &str| {
            let bytes = encoding::base64_decode(text.strip_prefix("whsec_")?)?;
            KEY_BYTES.contains(&bytes.len()).then_some(bytes)
        };
        let keys: Vec<Vec<u8>> =
            secret.expose().split_whitespace().map(key).collect::<Option<_>>()?;
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// Formats a key as [`SigningKeys::parse`] expects it.
    pub fn encode_key(key: &[u8; 32]) -> String {
        format!("whsec_{}", encoding::base64_encode(key))
    }

    /// Returns the headers that sign a request.
    pub fn sign(&self, id: &str, now: Timestamp, body: &[u8]) -> [(&'static str, String); 3] {
        let seconds = now.as_millis().div_euclid(1000).to_string();
        let sign = |key: &Vec<u8>| {
            let mac = mac(key, id, &seconds, body)?;
            Some(format!("v1,{}", encoding::base64_encode(&mac.finalize().into_bytes())))
        };
        let signatures: Vec<String> = self.0.iter().filter_map(sign).collect();
        [
            (ID_HEADER, id.to_owned()),
            (TIMESTAMP_HEADER, seconds),
            (SIGNATURE_HEADER, signatures.join(" ")),
        ]
    }

    /// Checks that a request has the headers of a signature, and a time close to now.
    pub fn check_headers(&self, headers: &HeaderMap, now: Timestamp) -> Result<(), ReceiveError> {
        SignatureHeaders::read(headers, now).map(drop)
    }

    /// Verifies the signature of a request and its time.
    pub fn verify(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<VerifiedRequest, ReceiveError> {
        let SignatureHeaders { id, seconds, signatures } = SignatureHeaders::read(headers, now)?;
        let is_valid = |signature: &str| {
            let given = signature.strip_prefix("v1,").and_then(encoding::base64_decode);
            given.is_some_and(|given| {
                self.0.iter().any(|key| {
                    // `verify_slice` compares in constant time.
                    mac(key, id, seconds, body).is_some_and(|mac| mac.verify_slice(&given).is_ok())
                })
            })
        };
        if !signatures.split(' ').any(is_valid) {
            return Err(ReceiveError::BadSignature);
        }
        Ok(VerifiedRequest { id: id.to_owned() })
    }
}

/// The headers of a signature.
struct SignatureHeaders<'a> {
    id: &'a str,
    seconds: &'a str,
    signatures: &'a str,
}

impl<'a> SignatureHeaders<'a> {
    /// Reads the headers. Fails if one is missing or the time is not close to now.
    fn read(headers: &'a HeaderMap, now: Timestamp) -> Result<Self, ReceiveError> {
        let header = |name: &'static str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.filter(|value| !value.is_empty()).ok_or(ReceiveError::Unsigned(name))
        };
        let (id, seconds, signatures) =
            (header(ID_HEADER)?, header(TIMESTAMP_HEADER)?, header(SIGNATURE_HEADER)?);
        let at: i64 = seconds.parse().map_err(|_| ReceiveError::StaleTimestamp)?;
        let at = Timestamp::from_millis(at.saturating_mul(1000));
        // One second more, because the timestamp is rounded down.
        if now.since(at).max(at.since(now)) > TOLERANCE + Duration::from_secs(1) {
            return Err(ReceiveError::StaleTimestamp);
        }
        Ok(Self { id, seconds, signatures })
    }
}

fn mac(key: &[u8], id: &str, seconds: &str, body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
        mac.update(part);
    }
    Some(mac)
}

/// Signs a text for one purpose. A signature for one purpose is not valid for
/// another.
pub(crate) fn sign_for(secret: &ChannelSecret, purpose: &str, text: &[u8]) -> Vec<u8> {
    purpose_mac(secret, purpose, text)
        .map_or_else(Vec::new, |mac| mac.finalize().into_bytes().to_vec())
}

/// Returns whether a signature of [`sign_for`] is valid, in constant time.
pub(crate) fn verify_for(
    secret: &ChannelSecret,
    purpose: &str,
    text: &[u8],
    signature: &[u8],
) -> bool {
    purpose_mac(secret, purpose, text).is_some_and(|mac| mac.verify_slice(signature).is_ok())
}

fn purpose_mac(secret: &ChannelSecret, purpose: &str, text: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(text);
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::{SigningKeys, VerifiedRequest};
    use crate::error::ReceiveError;
    use crate::secret::ChannelSecret;
    use http::{HeaderMap, HeaderName, HeaderValue};
    use ostler_domain::time::Timestamp;
    use proptest::prelude::{any, proptest};

    const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    const NOW: Timestamp = Timestamp::from_millis(1_614_265_330_000);

    fn keys(text: &str) -> SigningKeys {
        SigningKeys::parse(&ChannelSecret::new(text)).unwrap()
    }

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, String)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    /// The example in the libraries of the specification.
    #[test]
    fn signatures_match_the_specification() {
        let body = br#"{"test": 2432232314}"#;
        let [id, timestamp, signature] = keys(OLD).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", NOW, body);
        assert_eq!(id, ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek".into()));
        assert_eq!(timestamp, ("webhook-timestamp", "1614265330".into()));
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signature, ("webhook-signature", expected.into()));
    }

    #[test]
    fn a_request_without_a_valid_signature_is_rejected() {
        let sent = keys(OLD).sign("1", NOW, b"hi");
        let check = |change: &dyn Fn(&mut HeaderMap), later_secs: i64, expected| {
            let mut headers = headers(&sent);
            change(&mut headers);
            let now = Timestamp::from_millis(NOW.as_millis() + later_secs * 1000);
            assert_eq!(keys(OLD).verify(&headers, b"hi", now), expected, "{headers:?}");
        };
        let set = |headers: &mut HeaderMap, name: &'static str, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        let valid = Ok(VerifiedRequest { id: "1".into() });
        check(&|_| (), 0, valid.clone());
        check(&|_| (), 300, valid.clone());
        check(&|_| (), -300, valid.clone());
        check(&|_| (), 302, Err(ReceiveError::StaleTimestamp));
        check(&|_| (), -302, Err(ReceiveError::StaleTimestamp));
        check(&|h| set(h, "webhook-timestamp", "soon"), 0, Err(ReceiveError::StaleTimestamp));
        check(&|h| set(h, "webhook-timestamp", "1614265331"), 0, Err(ReceiveError::BadSignature));
        check(&|h| set(h, "webhook-id", "2"), 0, Err(ReceiveError::BadSignature));
        check(&|h| set(h, "webhook-signature", "v1,AAAA"), 0, Err(ReceiveError::BadSignature));
        check(&|h| set(h, "webhook-signature", "v1,~"), 0, Err(ReceiveError::BadSignature));
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            let missing = Err(ReceiveError::Unsigned(name));
            check(&|h| drop(h.remove(name)), 0, missing);
        }
        let other = keys(NEW).verify(&headers(&sent), b"hi", NOW);
        assert_eq!(other, Err(ReceiveError::BadSignature));
    }

    /// During a rotation either side may have both keys.
    #[test]
    fn any_key_is_accepted_during_a_rotation() {
        let both = keys(&format!("{NEW}\n{OLD}"));
        for (signer, verifier) in
            [(keys(OLD), both.clone()), (both.clone(), keys(OLD)), (both, keys(NEW))]
        {
            let sent = headers(&signer.sign("1", NOW, b"hi"));
            assert!(verifier.verify(&sent, b"hi", NOW).is_ok());
        }
    }

    #[test]
    fn invalid_keys_are_rejected() {
        for text in
            ["", "whsec_", "whsec_AAAA", "hunter2hunter2hunter2", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!"]
        {
            assert!(SigningKeys::parse(&ChannelSecret::new(text)).is_none(), "{text}");
        }
        assert!(SigningKeys::parse(&ChannelSecret::new(format!("{OLD} nonsense"))).is_none());
        assert_eq!(format!("{:?}", keys(OLD)), "SigningKeys(1, …)");
    }

    proptest! {
        #[test]
        fn only_the_signed_body_is_verified(body in any::<Vec<u8>>(), other in any::<Vec<u8>>()) {
            let sent = headers(&keys(OLD).sign("1", NOW, &body));
            assert!(keys(OLD).verify(&sent, &body, NOW).is_ok());
            assert_eq!(keys(OLD).verify(&sent, &other, NOW).is_ok(), body == other);
        }
    }
}
