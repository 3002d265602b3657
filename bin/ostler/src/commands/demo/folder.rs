//! The folder of a demo. The demo changes and deletes nothing that it did not make.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::config::Config;
use crate::home_lock::HomeLock;
use crate::installation::Installation;

/// Marks a folder that `ostler demo` made.
const MARKER: &str = ".ostler-demo";
const MARKER_TEXT: &str =
    "Made by `ostler demo`. `ostler demo --reset` deletes the files of the demo here.\n";
/// The script of the model.
pub(super) const SCRIPT: &str = include_str!("../../../../../examples/scripts/harbour.yaml");
const SCRIPT_FILE: &str = "script.yaml";
/// All that a demo makes in its folder besides the marker.
const FILES: [&str; 7] = [
    "ostler.db",
    "ostler.db-wal",
    "ostler.db-shm",
    "secrets",
    SCRIPT_FILE,
    "ostler.toml",
    "ostler.lock",
];

/// Opens the installation of the demo in a folder, and makes it if the folder is missing
/// or empty. Files that are there stay as they are.
pub(super) fn open(folder: &Path) -> anyhow::Result<Installation> {
    if !is_demo(folder) {
        check_empty(folder)?;
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        fs::write(folder.join(MARKER), MARKER_TEXT)?;
    }
    let script = folder.join(SCRIPT_FILE);
    if !script.exists() {
        fs::write(script, SCRIPT)?;
    }
    if folder.join("ostler.toml").exists() {
        return Installation::read(folder);
    }
    let config = Config {
        database: "sqlite:ostler.db".into(),
        script: Some(SCRIPT_FILE.into()),
        ..Config::default()
    };
    Installation::write(folder, &config)
}

/// Deletes what the demo made in its folder.
pub(super) fn reset(folder: &Path) -> anyhow::Result<()> {
    if !is_demo(folder) {
        return check_empty(folder);
    }
    let Some(_lock) = HomeLock::exclusive(folder)? else {
        bail!(
            "a server or a demo is using {}; stop it first. Nothing was deleted",
            folder.display()
        );
    };
    for name in FILES {
        let path = folder.join(name);
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether `ostler demo` made a folder.
pub(crate) fn is_demo(folder: &Path) -> bool {
    folder.join(MARKER).is_file()
}

/// Fails if a folder that is not a demo's has anything in it.
fn check_empty(folder: &Path) -> anyhow::Result<()> {
    let Ok(mut entries) = fs::read_dir(folder) else { return Ok(()) };
    if let Some(Ok(entry)) = entries.next() {
        bail!(
            "{} was not made by `ostler demo` (it has {}); choose an empty folder with --home. \
             Nothing was changed",
            folder.display(),
            entry.file_name().to_string_lossy()
        );
    }
    Ok(())
}
