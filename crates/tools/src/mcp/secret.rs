//! Reading a secret from where it is kept. It is read anew for each start of a
//! server, so that a changed one counts from then on.

use std::fmt;
use std::fs::File;
use std::io::Read;

use ostler_domain::secret::SecretRef;

use super::problem::Trouble;

/// The most bytes of a secret.
const MOST: u64 = 16 * 1024;

/// A secret. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    /// The secret, for whoever sends it to its server.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Reads a secret, without the line break that editors put at the end.
pub(super) fn read(at: &SecretRef) -> Result<Secret, Trouble> {
    let trouble = |why: String| Trouble::Secret { at: at.clone(), why };
    let text = match at {
        SecretRef::Env(name) => std::env::var(name).map_err(|error| trouble(error.to_string()))?,
        SecretRef::File(path) => {
            let mut text = String::new();
            let file = File::open(path).map_err(|error| trouble(error.to_string()))?;
            let read = file.take(MOST + 1).read_to_string(&mut text);
            read.map_err(|error| trouble(error.to_string()))?;
            text
        }
    };
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Err(trouble("it is empty".to_owned()));
    }
    if text.len() as u64 > MOST {
        return Err(trouble(format!("it is longer than {MOST} bytes")));
    }
    Ok(Secret(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::read;
    use ostler_domain::secret::SecretRef;

    #[test]
    fn a_secret_is_read_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            SecretRef::File(path.to_str().unwrap().to_owned())
        };
        let secret = read(&at("token", "hunter2\n")).unwrap();
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        for wrong in [at("empty", "\n"), at("long", &"x".repeat(20_000))] {
            assert!(read(&wrong).is_err());
        }
        assert!(read(&SecretRef::Env("OSTLER_NO_SUCH_VARIABLE".to_owned())).is_err());
    }
}
