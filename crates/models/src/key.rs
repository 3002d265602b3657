//! The key of a provider: where it is kept, and the key itself for as long as a
//! call takes. It is read anew for every call, so that a rotated one is used at
//! once, and it is never shown.

use std::fmt;
use std::io::Read;

use ostler_domain::secret::SecretRef;

/// The most bytes of a file with a key.
const MOST: u64 = 16 * 1024;

/// A key. Only the header of a call sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// A text of the provider that may quote the key, without it.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[hidden]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Why there is no key. It says how to set it, and nothing that was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    /// The variable is not there or empty.
    #[error("set {0} to use it")]
    NotSet(String),
    /// The file cannot be read.
    #[error("put its key into the file {path} ({why})")]
    NoFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// What is there can be no key.
    #[error("what {0} holds is no key: one is a single line of plain characters")]
    NotPlain(SecretRef),
}

/// Reads the key that is kept there.
pub fn read(place: &SecretRef) -> Result<Key, NoKey> {
    let text = match place {
        SecretRef::Env(name) => std::env::var(name).map_err(|_| NoKey::NotSet(name.clone()))?,
        SecretRef::File(path) => read_file(path)
            .map_err(|error| NoKey::NoFile { path: path.clone(), why: error.kind().to_string() })?,
    };
    let text = text.trim();
    match place {
        SecretRef::Env(name) if text.is_empty() => Err(NoKey::NotSet(name.clone())),
        SecretRef::File(path) if text.is_empty() => {
            Err(NoKey::NoFile { path: path.clone(), why: "it is empty".into() })
        }
        _ if text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Key(text.to_owned())),
        _ => Err(NoKey::NotPlain(place.clone())),
    }
}

/// A key is one small read, so it is not worth another thread.
fn read_file(path: &str) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{NoKey, read};
    use ostler_domain::secret::SecretRef;

    #[test]
    fn a_key_is_read_from_a_file_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key").to_str().unwrap().to_owned();
        let place = SecretRef::File(path.clone());
        let missing = read(&place).unwrap_err().to_string();
        assert_eq!(missing, format!("put its key into the file {path} (entity not found)"));
        std::fs::write(&path, "sk-secret\n").unwrap();
        let key = read(&place).unwrap();
        assert_eq!(key.expose(), "sk-secret");
        assert_eq!(format!("{key:?}"), "Key(…)");
        std::fs::write(&path, "two\nlines").unwrap();
        assert_eq!(read(&place), Err(NoKey::NotPlain(place.clone())));
        std::fs::write(&path, " \n").unwrap();
        assert!(read(&place).unwrap_err().to_string().contains("it is empty"));
    }

    #[test]
    fn a_missing_variable_says_how_to_set_it() {
        let place = SecretRef::Env("OSTLER_TEST_THERE_IS_NO_SUCH_KEY".into());
        let said = read(&place).unwrap_err().to_string();
        assert_eq!(said, "set OSTLER_TEST_THERE_IS_NO_SUCH_KEY to use it");
    }
}
