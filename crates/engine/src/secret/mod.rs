//! Secrets: read at the moment of use, so that a change takes effect at once; kept
//! only as long as a call takes; never printed.
//!
//! [`read`] is for secrets configured by the operator. Secrets named by an org are
//! read through [`OrgSecrets`], which checks that they belong to that org.

mod org;

use std::fmt;
use std::io::{ErrorKind, Read as _};

use ostler_domain::secret::SecretRef;

pub use org::{OrgSecrets, SecretScope};

/// The size limit of a secret.
const MAX_BYTES: usize = 16 * 1024;

/// A secret value. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the value, to send it to the service it belongs to.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces the secret wherever a text quotes it.
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "[hidden]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The reason why a secret is not available. The message says how to set it and
/// never quotes the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The variable is missing or empty.
    #[error("set {0} to use it")]
    NotSet(String),
    #[error("put the secret into the file {path} ({why})")]
    FileUnreadable { path: String, why: String },
    #[error("the secret in {0} is longer than {MAX_BYTES} bytes")]
    TooLong(SecretRef),
    #[error(
        "the secret in {0} is not a valid key: a key is one line of ASCII characters without spaces"
    )]
    InvalidKey(SecretRef),
    /// The secret does not belong to the org and is not shared with it.
    #[error(
        "{0} does not belong to this organization; use `env:OSTLER_SECRET_…` with its id, or a file in its own folder below `secrets/`"
    )]
    NotAllowed(SecretRef),
}

/// Reads a secret and removes the trailing line break.
pub fn read(reference: &SecretRef) -> Result<Secret, SecretError> {
    let text = match reference {
        SecretRef::Env(name) => {
            std::env::var(name).map_err(|_| SecretError::NotSet(name.clone()))?
        }
        SecretRef::File(path) => {
            read_file(path).map_err(|error| file_unreadable(path, &describe(&error)))?
        }
    };
    let text = text.trim_end_matches(['\n', '\r']);
    match reference {
        _ if text.len() > MAX_BYTES => Err(SecretError::TooLong(reference.clone())),
        SecretRef::Env(name) if text.is_empty() => Err(SecretError::NotSet(name.clone())),
        SecretRef::File(path) if text.is_empty() => Err(file_unreadable(path, "it is empty")),
        _ => Ok(Secret(text.to_owned())),
    }
}

/// Reads an API key: one line of ASCII characters, valid in an HTTP header.
pub fn read_key(reference: &SecretRef) -> Result<Secret, SecretError> {
    as_key(reference, read(reference)?)
}

fn as_key(reference: &SecretRef, Secret(text): Secret) -> Result<Secret, SecretError> {
    match text.trim() {
        key if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(Secret(key.to_owned()))
        }
        _ => Err(SecretError::InvalidKey(reference.clone())),
    }
}

/// Says why a file cannot be read.
fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        kind => kind.to_string(),
    }
}

fn file_unreadable(path: &str, why: &str) -> SecretError {
    SecretError::FileUnreadable { path: path.to_owned(), why: why.to_owned() }
}

/// Reads synchronously: one small read is not worth another thread.
fn read_file(path: &str) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES as u64 + 3).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{SecretError, read, read_key};
    use ostler_domain::secret::SecretRef;

    #[test]
    fn a_secret_is_read_from_a_file_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key").to_str().unwrap().to_owned();
        let place = SecretRef::File(path.clone());
        let missing = read(&place).unwrap_err().to_string();
        assert_eq!(missing, format!("put the secret into the file {path} (there is no such file)"));
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write("hunter2\r\n");
        let secret = read(&place).unwrap();
        assert_eq!((secret.expose(), format!("{secret:?}")), ("hunter2", "Secret(…)".into()));
        assert_eq!(secret.redact("is it hunter2?"), "is it [hidden]?");
        write("\n");
        assert!(read(&place).unwrap_err().to_string().contains("it is empty"));
        for longer in [16 * 1024 + 1, 100_000] {
            write(&"x".repeat(longer));
            assert_eq!(read(&place), Err(SecretError::TooLong(place.clone())));
        }
        write(&format!("{}\r\n", "x".repeat(16 * 1024)));
        assert_eq!(read(&place).unwrap().expose().len(), 16 * 1024);
    }

    #[test]
    fn a_key_is_one_line_of_ascii() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key").to_str().unwrap().to_owned();
        let place = SecretRef::File(path.clone());
        std::fs::write(&path, " sk-secret \n").unwrap();
        assert_eq!(read_key(&place).unwrap().expose(), "sk-secret");
        for text in ["two\nlines", "with space", "ключ", "  "] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read_key(&place), Err(SecretError::InvalidKey(place.clone())), "{text}");
            assert!(read(&place).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_missing_variable_says_how_to_set_it() {
        let place = SecretRef::Env("OSTLER_TEST_THERE_IS_NO_SUCH_KEY".into());
        let message = read(&place).unwrap_err().to_string();
        assert_eq!(message, "set OSTLER_TEST_THERE_IS_NO_SUCH_KEY to use it");
    }
}
