//! Signatures in the form of Standard Webhooks, in both directions.
//!
//! The text `id.timestamp.body` is signed by HMAC-SHA256. While a secret is
//! replaced there are two: both sign, and either is enough.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use ostler_domain::time::Timestamp;
use sha2::Sha256;

use crate::encoding;
use crate::error::ReceiveError;
use crate::secret::Secret;

/// The name of the id: a repeat has the same.
pub const ID: &str = "webhook-id";
/// The name of the time of signing, in seconds since 1970.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The name of the signatures.
pub const SIGNATURE: &str = "webhook-signature";

/// How far the clocks of the two sides may be apart.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// The fewest and the most bytes of a key.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 16..=128;

/// The keys of one side.
#[derive(Clone)]
pub struct Keys(Vec<Vec<u8>>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({}, …)", self.0.len())
    }
}

/// A request that was signed by somebody who has a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its id: a repeat has the same.
    pub id: String,
}

impl Keys {
    /// The keys of a secret: one or more `whsec_…` with white space between them.
    /// None if there is no key, or one that is none.
    pub fn read(secret: &Secret) -> Option<Self> {
        let key = |text: &str| {
            let bytes = encoding::read_standard(text.strip_prefix("whsec_")?)?;
            KEY_BYTES.contains(&bytes.len()).then_some(bytes)
        };
        let keys: Vec<Vec<u8>> =
            secret.expose().split_whitespace().map(key).collect::<Option<_>>()?;
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// A key of these bytes, in the form in which it is read.
    pub fn write(key: &[u8; 32]) -> String {
        format!("whsec_{}", encoding::standard(key))
    }

    /// The headers of a request that is sent.
    pub fn sign(&self, id: &str, now: Timestamp, body: &[u8]) -> [(&'static str, String); 3] {
        let seconds = now.as_millis().div_euclid(1000).to_string();
        let signed = |key: &Vec<u8>| {
            let mac = mac(key, id, &seconds, body)?;
            Some(format!("v1,{}", encoding::standard(&mac.finalize().into_bytes())))
        };
        let signatures: Vec<String> = self.0.iter().filter_map(signed).collect();
        [(ID, id.to_owned()), (TIMESTAMP, seconds), (SIGNATURE, signatures.join(" "))]
    }

    /// Checks a request that came in.
    pub fn verify(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Verified, ReceiveError> {
        let header = |name: &'static str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.filter(|value| !value.is_empty()).ok_or(ReceiveError::Unsigned(name))
        };
        let (id, seconds, signatures) = (header(ID)?, header(TIMESTAMP)?, header(SIGNATURE)?);
        let at: i64 = seconds.parse().map_err(|_| ReceiveError::Stale)?;
        let at = Timestamp::from_millis(at.saturating_mul(1000));
        // The second that the clock rounds off counts for neither side.
        if now.since(at).max(at.since(now)) > TOLERANCE + Duration::from_secs(1) {
            return Err(ReceiveError::Stale);
        }
        let right = |signature: &str| {
            let given = signature.strip_prefix("v1,").and_then(encoding::read_standard);
            given.is_some_and(|given| {
                self.0.iter().any(|key| {
                    // It compares in constant time.
                    mac(key, id, seconds, body).is_some_and(|mac| mac.verify_slice(&given).is_ok())
                })
            })
        };
        if !signatures.split(' ').any(right) {
            return Err(ReceiveError::BadSignature);
        }
        Ok(Verified { id: id.to_owned() })
    }
}

fn mac(key: &[u8], id: &str, seconds: &str, body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
        mac.update(part);
    }
    Some(mac)
}

/// The signature of a text by a secret.
pub(crate) fn seal(secret: &Secret, purpose: &str, text: &[u8]) -> Vec<u8> {
    sealing(secret, purpose, text).map_or_else(Vec::new, |mac| mac.finalize().into_bytes().to_vec())
}

/// Whether a signature is right, compared in constant time.
pub(crate) fn is_sealed(secret: &Secret, purpose: &str, text: &[u8], seal: &[u8]) -> bool {
    sealing(secret, purpose, text).is_some_and(|mac| mac.verify_slice(seal).is_ok())
}

/// What is signed for one purpose is no signature for another.
fn sealing(secret: &Secret, purpose: &str, text: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(text);
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::{Keys, Verified};
    use crate::error::ReceiveError;
    use crate::secret::Secret;
    use http::{HeaderMap, HeaderName, HeaderValue};
    use ostler_domain::time::Timestamp;
    use proptest::prelude::{any, proptest};

    const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    const NOW: Timestamp = Timestamp::from_millis(1_614_265_330_000);

    fn keys(text: &str) -> Keys {
        Keys::read(&Secret::new(text)).unwrap()
    }

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, String)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_the_one_of_the_specification() {
        let body = br#"{"test": 2432232314}"#;
        let [id, timestamp, signature] = keys(OLD).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", NOW, body);
        assert_eq!(id, ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek".into()));
        assert_eq!(timestamp, ("webhook-timestamp", "1614265330".into()));
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signature, ("webhook-signature", expected.into()));
    }

    #[test]
    fn who_has_no_key_is_refused_and_why_is_said() {
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
        let right = Ok(Verified { id: "1".into() });
        check(&|_| (), 0, right.clone());
        check(&|_| (), 300, right.clone());
        check(&|_| (), -300, right.clone());
        check(&|_| (), 302, Err(ReceiveError::Stale));
        check(&|_| (), -302, Err(ReceiveError::Stale));
        check(&|h| set(h, "webhook-timestamp", "soon"), 0, Err(ReceiveError::Stale));
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

    /// While a secret is replaced, either side may have both.
    #[test]
    fn secrets_can_be_rotated() {
        let both = keys(&format!("{NEW}\n{OLD}"));
        for (signs, checks) in
            [(keys(OLD), both.clone()), (both.clone(), keys(OLD)), (both, keys(NEW))]
        {
            let sent = headers(&signs.sign("1", NOW, b"hi"));
            assert!(checks.verify(&sent, b"hi", NOW).is_ok());
        }
    }

    #[test]
    fn a_secret_that_is_no_key_is_not_used() {
        for text in
            ["", "whsec_", "whsec_AAAA", "hunter2hunter2hunter2", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!"]
        {
            assert!(Keys::read(&Secret::new(text)).is_none(), "{text}");
        }
        assert!(Keys::read(&Secret::new(format!("{OLD} nonsense"))).is_none());
        assert_eq!(format!("{:?}", keys(OLD)), "Keys(1, …)");
    }

    proptest! {
        #[test]
        fn only_what_was_signed_is_verified(body in any::<Vec<u8>>(), other in any::<Vec<u8>>()) {
            let sent = headers(&keys(OLD).sign("1", NOW, &body));
            assert!(keys(OLD).verify(&sent, &body, NOW).is_ok());
            assert_eq!(keys(OLD).verify(&sent, &other, NOW).is_ok(), body == other);
        }
    }
}
