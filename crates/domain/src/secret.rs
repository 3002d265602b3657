//! Secrets, as far as the rules may know them: where one is kept, what a log-in
//! is checked against, and the text of an API key. None of them is ever printed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a secret is kept: `env:NAME` or `file:PATH`, and never the secret
/// itself. Whoever reads it decides which names an org may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SecretRef {
    /// In a variable of the environment.
    Env(String),
    /// In a file.
    File(String),
}

/// A text that does not say where a secret is. It may be the secret, so it is
/// not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret is referred to by `env:NAME` or `file:PATH`, never written down")]
pub struct BadSecretRef;

impl FromStr for SecretRef {
    type Err = BadSecretRef;

    fn from_str(text: &str) -> Result<Self, BadSecretRef> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() && name.chars().all(word) => {
                Ok(Self::Env(name.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.to_owned())),
            _ => Err(BadSecretRef),
        }
    }
}

impl TryFrom<String> for SecretRef {
    type Error = BadSecretRef;

    fn try_from(text: String) -> Result<Self, BadSecretRef> {
        text.parse()
    }
}

impl From<SecretRef> for String {
    fn from(secret: SecretRef) -> Self {
        secret.to_string()
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
        }
    }
}

/// What a password is checked against: a PHC string (`$argon2id$…`) that the
/// edge makes and reads. Its kind of hash is of no interest here.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

/// A text that is no PHC string. It may be the password, so it is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no hash of a password; it should start with `$`, the name of its kind and `$`")]
pub struct NotAHash;

impl PasswordHash {
    /// The hash, for whoever checks a password.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for PasswordHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let kind = text.strip_prefix('$').and_then(|rest| rest.split_once('$'));
        match kind {
            Some((kind, rest)) if !kind.is_empty() && !rest.is_empty() => Ok(Self(text.to_owned())),
            _ => Err(NotAHash),
        }
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// The text of an API key, as the edge makes it at random and its owner keeps
/// it. It is long enough that its first characters can be shown. Two of them are
/// compared by their hashes, never character by character.
#[derive(Clone)]
pub struct KeySecret(String);

/// A text that is no API key. It may be a part of one, so it is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no API key; one has at least {} letters and digits", KeySecret::LEAST)]
pub struct NotAKey;

impl KeySecret {
    /// The fewest characters of a key.
    pub const LEAST: usize = 32;
    /// How many of them are shown, so that people can tell keys apart.
    pub const SHOWN: usize = 12;

    /// All of it, for whoever compares or hands it out.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The beginning, which may be seen.
    pub fn shown(&self) -> &str {
        self.0.get(..Self::SHOWN).unwrap_or_default()
    }
}

impl FromStr for KeySecret {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        if plain && text.len() >= Self::LEAST { Ok(Self(text.to_owned())) } else { Err(NotAKey) }
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySecret({}…)", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::{BadSecretRef, KeySecret, NotAHash, NotAKey, PasswordHash, SecretRef};

    #[test]
    fn a_reference_says_where_and_nothing_else() {
        for text in ["env:STRIPE_KEY", "file:/run/secrets/stripe", "file:a:b"] {
            let secret: SecretRef = text.parse().unwrap();
            assert_eq!(secret.to_string(), text);
            let json = serde_json::to_string(&secret).unwrap();
            assert_eq!(serde_json::from_str::<SecretRef>(&json).unwrap(), secret);
        }
        for text in ["", "env:", "file:", "env:A B", "env:a=b", "sk_live_123", "vault:x"] {
            assert_eq!(text.parse::<SecretRef>(), Err(BadSecretRef), "{text}");
        }
    }

    #[test]
    fn a_password_is_not_taken_for_its_hash() {
        let hash: PasswordHash = "$argon2id$v=19$m=8$c2FsdA$aGFzaA".parse().unwrap();
        assert_eq!(hash.expose(), "$argon2id$v=19$m=8$c2FsdA$aGFzaA");
        assert_eq!(format!("{hash:?}"), "PasswordHash(…)");
        for text in ["", "hunter2", "$", "$$", "$argon2id$", "$hunter2"] {
            assert_eq!(text.parse::<PasswordHash>(), Err(NotAHash), "{text}");
        }
    }

    #[test]
    fn a_key_shows_only_its_beginning() {
        let key: KeySecret = "ostler_abcdefghijklmnopqrstuvwxyz".parse().unwrap();
        assert_eq!(key.shown(), "ostler_abcde");
        assert_eq!(format!("{key:?}"), "KeySecret(ostler_abcde…)");
        for text in [
            "",
            "ostler_short",
            "ostler_with a space in the middle of it",
            "ostler_éééééééééééééééééééééé",
        ] {
            assert_eq!(text.parse::<KeySecret>().err(), Some(NotAKey), "{text}");
        }
    }
}
