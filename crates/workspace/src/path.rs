//! Paths as agents write them, made relative to the root. The result is only a name: that it
//! stays inside is enforced by the system when it is opened.

use std::path::{Component, Path, PathBuf};

use crate::error::WorkspaceError;

/// The longest path that is accepted, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// Returns `text` relative to `root`. An absolute path must be below the root; an empty path
/// or `.` is the root itself.
pub(crate) fn relative(root: &Path, text: &str) -> Result<PathBuf, WorkspaceError> {
    let invalid = |why| Err(WorkspaceError::InvalidPath { path: shorten(text), why });
    if text.len() > MAX_PATH_BYTES {
        return invalid("it is too long");
    }
    if text.contains('\0') {
        return invalid("it contains a zero byte");
    }
    let outside = || WorkspaceError::Outside { path: text.to_owned() };
    let path = Path::new(text);
    let path =
        if path.is_absolute() { path.strip_prefix(root).map_err(|_| outside())? } else { path };
    let mut relative = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => relative.push(name),
            Component::CurDir => {}
            // `a/..` is the parent of what `a` links to, so it is left to the system.
            Component::ParentDir if relative.as_os_str().is_empty() => return Err(outside()),
            Component::ParentDir => relative.push(".."),
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
    }
    if relative.as_os_str().is_empty() {
        relative.push(".");
    }
    Ok(relative)
}

/// Returns whether programs outside trust the path: git runs what `.git` says, and `.ostler`
/// holds permissions.
pub(crate) fn is_protected(path: &Path) -> bool {
    path.components().any(|name| name.as_os_str() == ".git" || name.as_os_str() == ".ostler")
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::relative;
    use std::path::Path;

    #[test]
    fn paths_become_relative_to_the_root() {
        for (text, expected) in [
            ("", Some(".")),
            (".", Some(".")),
            ("./src//main.rs", Some("src/main.rs")),
            ("/home/ann/shop/src/main.rs", Some("src/main.rs")),
            ("/home/ann/shop", Some(".")),
            ("src/../Cargo.toml", Some("src/../Cargo.toml")),
            ("/home/ann/shop2/x", None),
            ("/etc/passwd", None),
            ("..", None),
            ("./../x", None),
            ("/home/ann/shop/../x", None),
            ("a\0b", None),
        ] {
            let found = relative(Path::new("/home/ann/shop"), text).ok();
            assert_eq!(found.as_deref(), expected.map(Path::new), "{text:?}");
        }
    }
}
