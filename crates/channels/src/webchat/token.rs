//! Whom a token stands for. A visitor reads and writes one conversation: the one
//! of the name in their token, which only this binding can sign.

use std::time::Duration;

use ostler_domain::contact::normal_email;
use ostler_domain::time::Timestamp;

use super::{Hello, Webchat, Welcome};
use crate::encoding;
use crate::error::ReceiveError;
use crate::signature::{is_sealed, seal};

/// How long a token is good for.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const TOKEN: &str = "webchat visitor";
const IDENTITY: &str = "webchat identity";

/// Somebody who visits a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// What the channel calls them: an e-mail address if the page's own server
    /// has vouched for it, else a name without meaning.
    pub identifier: String,
}

impl Webchat {
    /// Lets a visitor in: with the address that the page's own server vouches for,
    /// or known by nothing but a number that the caller makes.
    pub fn welcome(
        &self,
        hello: &Hello,
        number: u128,
        now: Timestamp,
    ) -> Result<Welcome, ReceiveError> {
        let name = match (&hello.email, &hello.proof) {
            (Some(email), Some(proof)) => self.vouched(email, proof)?,
            (Some(_), None) => return Err(ReceiveError::Unsigned("proof")),
            (None, _) => format!("{number:032x}"),
        };
        let expires = (now + LIFETIME).as_millis().div_euclid(1000);
        let text = format!("{}/{expires}/{name}", self.binding);
        let signature = seal(&self.secret, TOKEN, text.as_bytes());
        let (text, signature) =
            (encoding::url_safe(text.as_bytes()), encoding::url_safe(&signature));
        Ok(Welcome { token: format!("{text}.{signature}") })
    }

    /// Checks what the page's own server says of its visitor: the proof is
    /// HMAC-SHA256 of `webchat identity`, a zero byte and the address in lower
    /// case, by the secret of the binding, in hexadecimal digits.
    fn vouched(&self, email: &str, proof: &str) -> Result<String, ReceiveError> {
        let email = normal_email(email).filter(|email| email.contains('@'));
        let email = email.ok_or_else(|| ReceiveError::BadBody("`email` is no address".into()))?;
        let proof = read_hex(proof).ok_or(ReceiveError::BadSignature)?;
        if !is_sealed(&self.secret, IDENTITY, email.as_bytes(), &proof) {
            return Err(ReceiveError::BadSignature);
        }
        Ok(email)
    }

    /// Whom a token stands for.
    pub fn visitor(&self, token: &str, now: Timestamp) -> Result<Visitor, ReceiveError> {
        let read = || {
            let (text, signature) = token.split_once('.')?;
            let (text, signature) =
                (encoding::read_url_safe(text)?, encoding::read_url_safe(signature)?);
            if !is_sealed(&self.secret, TOKEN, &text, &signature) {
                return None;
            }
            let text = String::from_utf8(text).ok()?;
            let (binding, rest) = text.split_once('/')?;
            let (expires, name) = rest.split_once('/')?;
            let expires = Timestamp::from_millis(expires.parse::<i64>().ok()?.checked_mul(1000)?);
            (binding == self.binding.to_string()).then(|| (expires, name.to_owned()))
        };
        let (expires, identifier) = read().ok_or(ReceiveError::BadSignature)?;
        if now >= expires {
            return Err(ReceiveError::Expired);
        }
        Ok(Visitor { identifier })
    }
}

fn read_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pairs = || (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16));
    if digits { pairs().collect::<Result<_, _>>().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::{Hello, Visitor, Webchat};
    use crate::encoding::hex;
    use crate::error::ReceiveError;
    use crate::secret::Secret;
    use crate::signature::seal;
    use ostler_domain::id::BindingId;
    use ostler_domain::time::Timestamp;
    use proptest::prelude::{any, proptest};

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn chat(binding: u128, secret: &str) -> Webchat {
        Webchat::open(BindingId::from_u128(binding), "", || Ok(Secret::new(secret))).unwrap()
    }

    fn token(chat: &Webchat, number: u128) -> String {
        chat.welcome(&Hello::default(), number, NOW).unwrap().token
    }

    fn secret(start: &str) -> String {
        format!("{start}{}", "x".repeat(40))
    }

    #[test]
    fn a_token_stands_for_one_visitor_of_one_binding_for_a_month() {
        let bella = chat(1, &secret("a"));
        let token = token(&bella, 7);
        let name = "00000000000000000000000000000007";
        assert_eq!(bella.visitor(&token, NOW), Ok(Visitor { identifier: name.into() }));
        let later = |days: i64| Timestamp::from_millis(NOW.as_millis() + days * 86_400_000);
        assert!(bella.visitor(&token, later(29)).is_ok());
        assert_eq!(bella.visitor(&token, later(31)), Err(ReceiveError::Expired));
        for other in [chat(2, &secret("a")), chat(1, &secret("b"))] {
            assert_eq!(other.visitor(&token, NOW), Err(ReceiveError::BadSignature));
        }
        for nonsense in ["", ".", "a.b", "é", &token[1..], &token.replace('.', "")] {
            assert_eq!(bella.visitor(nonsense, NOW), Err(ReceiveError::BadSignature), "{nonsense}");
        }
    }

    /// A12: a visitor is known by an address only if the page's server says so.
    #[test]
    fn a12_an_address_counts_only_with_its_proof() {
        let (key, bella) = (secret("a"), chat(1, &secret("a")));
        let proof = hex(&seal(&Secret::new(key), "webchat identity", b"rosa@example.com"));
        let welcome = |email: &str, proof: Option<&str>| {
            let proof = proof.map(str::to_owned);
            bella.welcome(&Hello { email: Some(email.into()), proof }, 7, NOW)
        };
        let rosa = welcome(" Rosa@Example.com", Some(&proof)).unwrap().token;
        assert_eq!(bella.visitor(&rosa, NOW).unwrap().identifier, "rosa@example.com");
        let refused = Err(ReceiveError::BadSignature);
        assert_eq!(welcome("eve@example.com", Some(&proof)), refused);
        for nonsense in ["", "zz", "abc", "éé"] {
            assert_eq!(welcome("rosa@example.com", Some(nonsense)), refused, "{nonsense}");
        }
        assert_eq!(welcome("rosa@example.com", None), Err(ReceiveError::Unsigned("proof")));
        assert!(matches!(welcome("rosa", Some(&proof)), Err(ReceiveError::BadBody(_))));
    }

    proptest! {
        /// No change of a token is another's token.
        #[test]
        fn a_changed_token_is_refused(at in 0usize..100, by in 1u8..=255, number in any::<u128>()) {
            let bella = chat(1, &secret("a"));
            let mut token = token(&bella, number).into_bytes();
            let at = at % token.len();
            token[at] ^= by;
            if let Ok(changed) = String::from_utf8(token) {
                assert!(bella.visitor(&changed, NOW).is_err());
            }
        }
    }
}
