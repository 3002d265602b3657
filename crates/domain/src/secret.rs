//! Secrets: where one is stored, the hash a login is checked against, and the text of
//! an API key. None of them is ever printed.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Location of a secret, `env:NAME` or `file:PATH`; never the secret itself. The reader
/// decides which names an org may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum SecretRef {
    /// Name of an environment variable.
    Env(String),
    /// Path of a file.
    File(String),
}

/// The text is not the location of a secret. It may be the secret itself, so the error
/// does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret is referred to by `env:NAME` or `file:PATH`, never written down")]
pub struct InvalidSecretRef;

impl FromStr for SecretRef {
    type Err = InvalidSecretRef;

    fn from_str(text: &str) -> Result<Self, InvalidSecretRef> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() && name.chars().all(word) => {
                Ok(Self::Env(name.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.to_owned())),
            _ => Err(InvalidSecretRef),
        }
    }
}

impl TryFrom<String> for SecretRef {
    type Error = InvalidSecretRef;

    fn try_from(text: String) -> Result<Self, InvalidSecretRef> {
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

/// Parts of names whose values are secrets.
const SECRET_NAMES: [&str; 10] = [
    "authorization",
    "token",
    "secret",
    "password",
    "passwd",
    "api-key",
    "api_key",
    "apikey",
    "cookie",
    "credential",
];
/// How the secrets of well-known services begin.
const SECRET_PREFIXES: [&str; 10] =
    ["Bearer ", "Basic ", "sk_", "sk-", "rk_", "ghp_", "github_pat_", "xoxb-", "glpat-", "whsec_"];

/// Why a value that is written down is refused.
pub const WRITTEN_SECRET: &str =
    "a secret must not be written down; refer to it with `env:NAME` or `file:PATH`";

/// Returns whether a value that is written down is a secret, by its name or by its beginning.
pub fn is_written_secret(name: &str, value: &str) -> bool {
    let name = name.to_lowercase();
    let by_name = SECRET_NAMES.iter().any(|part| name.contains(part)) || name == "key";
    let by_value = SECRET_PREFIXES.iter().any(|prefix| value.starts_with(prefix));
    (by_name || by_value) && !value.is_empty()
}

/// Returns whether a line of a file may hold a secret, so that it is better not repeated.
pub fn may_hold_secret(line: &str) -> bool {
    let lower = line.to_lowercase();
    SECRET_NAMES.iter().any(|part| lower.contains(part))
        || SECRET_PREFIXES.iter().any(|prefix| line.contains(prefix))
        || line.split_once("://").is_some_and(|(_, rest)| rest.contains('@'))
}

/// Hash of a password as a PHC string (`$argon2id$…`). Hashing and checking happen
/// outside of this crate.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

/// The text is not a PHC string. It may be the password, so the error does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a password hash; it should start with `$`, the algorithm and `$`")]
pub struct InvalidPasswordHash;

impl PasswordHash {
    /// Returns the hash, to check a password against.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for PasswordHash {
    type Err = InvalidPasswordHash;

    fn from_str(text: &str) -> Result<Self, InvalidPasswordHash> {
        let kind = text.strip_prefix('$').and_then(|rest| rest.split_once('$'));
        match kind {
            Some((kind, rest)) if !kind.is_empty() && !rest.is_empty() => Ok(Self(text.to_owned())),
            _ => Err(InvalidPasswordHash),
        }
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// The text of an API key, which is random and known only to its owner. It is long
/// enough that its first characters can be shown. Compare keys by their hashes, never
/// character by character.
#[derive(Clone)]
pub struct ApiKeySecret(String);

/// The text is not an API key. It may be a part of one, so the error does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not an API key; one has at least {} letters and digits", ApiKeySecret::MIN_LEN)]
pub struct InvalidApiKey;

impl ApiKeySecret {
    /// The prefix of the keys that are made here, by which leaked keys are recognized.
    pub const PREFIX: &str = "osk_";
    /// Minimum length of a key.
    pub const MIN_LEN: usize = 32;
    /// Length of the prefix that is shown, so that people can tell keys apart.
    pub const PREFIX_LEN: usize = 12;

    /// Returns the whole key.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the prefix, which may be shown.
    pub fn prefix(&self) -> &str {
        self.0.get(..Self::PREFIX_LEN).unwrap_or_default()
    }
}

impl FromStr for ApiKeySecret {
    type Err = InvalidApiKey;

    fn from_str(text: &str) -> Result<Self, InvalidApiKey> {
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        if plain && text.len() >= Self::MIN_LEN {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidApiKey)
        }
    }
}

impl fmt::Debug for ApiKeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeySecret({}…)", self.prefix())
    }
}

/// The one-time code of an invitation, which is random and known only to the invited
/// person.
#[derive(Clone)]
pub struct InvitationCode(String);

/// The text is not the code of an invitation. It may be a part of one, so the error does
/// not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not an invitation code; one starts with `{}`", InvitationCode::PREFIX)]
pub struct InvalidInvitationCode;

impl InvitationCode {
    /// The prefix of every code, by which leaked codes are recognized.
    pub const PREFIX: &str = "osi_";
    /// The shortest code, without its prefix.
    const MIN_LEN: usize = 32;

    /// Returns the whole code.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for InvitationCode {
    type Err = InvalidInvitationCode;

    fn from_str(text: &str) -> Result<Self, InvalidInvitationCode> {
        let text = text.trim();
        let random = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        if random.len() >= Self::MIN_LEN && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidInvitationCode)
        }
    }
}

impl fmt::Debug for InvitationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InvitationCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ApiKeySecret, InvalidApiKey, InvalidInvitationCode, InvalidPasswordHash, InvalidSecretRef,
        InvitationCode, PasswordHash, SecretRef,
    };

    #[test]
    fn a_secret_ref_holds_only_the_location() {
        for text in ["env:STRIPE_KEY", "file:/run/secrets/stripe", "file:a:b"] {
            let secret: SecretRef = text.parse().unwrap();
            assert_eq!(secret.to_string(), text);
            let json = serde_json::to_string(&secret).unwrap();
            assert_eq!(serde_json::from_str::<SecretRef>(&json).unwrap(), secret);
        }
        for text in ["", "env:", "file:", "env:A B", "env:a=b", "sk_live_123", "vault:x"] {
            assert_eq!(text.parse::<SecretRef>(), Err(InvalidSecretRef), "{text}");
        }
    }

    #[test]
    fn a_password_is_not_taken_for_its_hash() {
        let hash: PasswordHash = "$argon2id$v=19$m=8$c2FsdA$aGFzaA".parse().unwrap();
        assert_eq!(hash.expose(), "$argon2id$v=19$m=8$c2FsdA$aGFzaA");
        assert_eq!(format!("{hash:?}"), "PasswordHash(…)");
        for text in ["", "hunter2", "$", "$$", "$argon2id$", "$hunter2"] {
            assert_eq!(text.parse::<PasswordHash>(), Err(InvalidPasswordHash), "{text}");
        }
    }

    #[test]
    fn a_key_shows_only_its_beginning() {
        let key: ApiKeySecret = "ostler_abcdefghijklmnopqrstuvwxyz".parse().unwrap();
        assert_eq!(key.prefix(), "ostler_abcde");
        assert_eq!(format!("{key:?}"), "ApiKeySecret(ostler_abcde…)");
        for text in [
            "",
            "ostler_short",
            "ostler_with a space in the middle of it",
            "ostler_éééééééééééééééééééééé",
        ] {
            assert_eq!(text.parse::<ApiKeySecret>().err(), Some(InvalidApiKey), "{text}");
        }
    }

    #[test]
    fn an_invitation_code_is_never_printed() {
        let text = format!("osi_{}", "a1".repeat(32));
        let code: InvitationCode = format!(" {text}\n").parse().unwrap();
        assert_eq!(code.expose(), text);
        assert_eq!(format!("{code:?}"), "InvitationCode(…)");
        for text in ["", "osi_", "osi_short", &"a1".repeat(32), &format!("{text}é")] {
            assert_eq!(text.parse::<InvitationCode>().err(), Some(InvalidInvitationCode), "{text}");
        }
    }
}
