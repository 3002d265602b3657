//! Secrets: read from where they are kept, at the moment they are used, so that a
//! changed one counts at once; held for as long as a call takes; never shown.
//!
//! [`read`] is for what an operator has set up. What an org has set up goes
//! through [`OrgSecrets`], which knows what is that org's.

mod org;

use std::fmt;
use std::io::Read;

use ostler_domain::secret::SecretRef;

pub use org::OrgSecrets;

/// The most bytes of a secret.
const MOST: usize = 16 * 1024;

/// A secret. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret, for whoever sends it to where it belongs.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text that may quote the secret, without it.
    pub fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[hidden]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why there is no secret. It says how to set it, and nothing that was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSecret {
    /// The variable is not there or empty.
    #[error("set {0} to use it")]
    NotSet(String),
    /// The file cannot be read.
    #[error("put the secret into the file {path} ({why})")]
    NoFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// What is there is too long.
    #[error("what {0} holds is longer than {MOST} bytes")]
    TooLong(SecretRef),
    /// What is there cannot be a key.
    #[error("what {0} holds is no key: one is a single line of plain characters")]
    NotAKey(SecretRef),
    /// It is not the org's own, nor shared with it.
    #[error("{0} is no secret of this organization; ask the operator for one that is")]
    NotTheirs(SecretRef),
}

/// Reads a secret, without the line break that editors put at its end.
pub fn read(at: &SecretRef) -> Result<Secret, NoSecret> {
    let text = match at {
        SecretRef::Env(name) => std::env::var(name).map_err(|_| NoSecret::NotSet(name.clone()))?,
        SecretRef::File(path) => {
            read_file(path).map_err(|error| no_file(path, &error.kind().to_string()))?
        }
    };
    let text = text.trim_end_matches(['\n', '\r']);
    match at {
        _ if text.len() > MOST => Err(NoSecret::TooLong(at.clone())),
        SecretRef::Env(name) if text.is_empty() => Err(NoSecret::NotSet(name.clone())),
        SecretRef::File(path) if text.is_empty() => Err(no_file(path, "it is empty")),
        _ => Ok(Secret(text.to_owned())),
    }
}

/// Reads a secret that is a key: one line of plain characters, as headers take
/// them.
pub fn read_key(at: &SecretRef) -> Result<Secret, NoSecret> {
    as_key(at, read(at)?)
}

fn as_key(at: &SecretRef, Secret(text): Secret) -> Result<Secret, NoSecret> {
    match text.trim() {
        key if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(Secret(key.to_owned()))
        }
        _ => Err(NoSecret::NotAKey(at.clone())),
    }
}

fn no_file(path: &str, why: &str) -> NoSecret {
    NoSecret::NoFile { path: path.to_owned(), why: why.to_owned() }
}

/// A secret is one small read, so it is not worth another thread.
fn read_file(path: &str) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST as u64 + 3).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{NoSecret, read, read_key};
    use ostler_domain::secret::SecretRef;

    #[test]
    fn a_secret_is_read_from_a_file_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key").to_str().unwrap().to_owned();
        let place = SecretRef::File(path.clone());
        let missing = read(&place).unwrap_err().to_string();
        assert_eq!(missing, format!("put the secret into the file {path} (entity not found)"));
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write("hunter2\r\n");
        let secret = read(&place).unwrap();
        assert_eq!((secret.expose(), format!("{secret:?}")), ("hunter2", "Secret(…)".into()));
        assert_eq!(secret.hide_in("is it hunter2?"), "is it [hidden]?");
        write("\n");
        assert!(read(&place).unwrap_err().to_string().contains("it is empty"));
        for longer in [16 * 1024 + 1, 100_000] {
            write(&"x".repeat(longer));
            assert_eq!(read(&place), Err(NoSecret::TooLong(place.clone())));
        }
        write(&format!("{}\r\n", "x".repeat(16 * 1024)));
        assert_eq!(read(&place).unwrap().expose().len(), 16 * 1024);
    }

    #[test]
    fn a_key_is_one_plain_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key").to_str().unwrap().to_owned();
        let place = SecretRef::File(path.clone());
        std::fs::write(&path, " sk-secret \n").unwrap();
        assert_eq!(read_key(&place).unwrap().expose(), "sk-secret");
        for text in ["two\nlines", "with space", "ключ", "  "] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read_key(&place), Err(NoSecret::NotAKey(place.clone())), "{text}");
            assert!(read(&place).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_missing_variable_says_how_to_set_it() {
        let place = SecretRef::Env("OSTLER_TEST_THERE_IS_NO_SUCH_KEY".into());
        let said = read(&place).unwrap_err().to_string();
        assert_eq!(said, "set OSTLER_TEST_THERE_IS_NO_SUCH_KEY to use it");
    }
}
