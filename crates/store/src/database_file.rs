//! The file of a SQLite database: errors name it, and what to do about it.

use std::path::Path;

use crate::error::{Result, StoreError};

/// Returns the path of the file, if the database is one.
fn path(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    (!path.is_empty() && path != ":memory:").then_some(path)
}

/// Fails if the file does not exist, which SQLite would create.
pub(crate) fn check_exists(url: &str) -> Result<()> {
    match path(url) {
        Some(path) if !Path::new(path).exists() => {
            let reason = format!(
                "there is no file {path}; `ostler migrate` creates it, or put back what was there"
            );
            Err(StoreError::Unavailable(reason))
        }
        _ => Ok(()),
    }
}

/// Adds the file and the remedy to an error of a damaged or read-only file.
pub(crate) fn name_remedy(url: &str, error: StoreError) -> StoreError {
    let text = error.to_string();
    let damaged = ["malformed", "not a database"].iter().any(|sign| text.contains(sign));
    let remedy = if damaged {
        "it is damaged, stop every process and restore a backup"
    } else if text.contains("readonly") {
        "it is read-only, check that this user may write it and its folder"
    } else {
        return error;
    };
    match path(url) {
        Some(path) => StoreError::Unavailable(format!("{path} cannot be used ({text}); {remedy}")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::{check_exists, name_remedy};
    use crate::error::StoreError;

    #[test]
    fn errors_name_the_file_and_the_remedy() {
        let text = |url, said: &str| name_remedy(url, StoreError::Backend(said.into())).to_string();
        let damaged = text("sqlite:/x/a.db", "database disk image is malformed");
        assert!(damaged.contains("/x/a.db") && damaged.contains("restore a backup"), "{damaged}");
        let read_only = text("sqlite:/x/a.db", "attempt to write a readonly database");
        assert!(read_only.contains("/x/a.db") && read_only.contains("may write"), "{read_only}");
        assert_eq!(
            text("sqlite:/x/a.db", "no such table: a"),
            "the database refused: no such table: a"
        );
        assert_eq!(text("postgres://x", "readonly"), "the database refused: readonly");
        assert!(check_exists("sqlite:/nowhere/a.db").is_err());
        assert!(check_exists("sqlite::memory:").is_ok());
    }
}
