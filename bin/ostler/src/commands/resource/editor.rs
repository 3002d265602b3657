//! Editing a resource as TOML in the person's editor.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use ostler_world::Address;
use ostler_world::file::parse_fields;
use serde_json::Value;

use crate::random;

/// Opens a resource as TOML in the editor and returns the fields that it has then, with the
/// file.
pub(super) fn edit(address: &Address, text: &str) -> anyhow::Result<(Value, EditedFile)> {
    edit_text(text, "toml", |name, edited| fields(address, name, edited))
}

/// Opens a text in `$VISUAL` or `$EDITOR`, parses what it is then and returns it with its file.
/// A mistake is shown with its place, and the text is kept in its file.
pub(crate) fn edit_text<T>(
    text: &str,
    ending: &str,
    parse: impl Fn(&str, &str) -> anyhow::Result<T>,
) -> anyhow::Result<(T, EditedFile)> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let file = EditedFile::create(text, ending)?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(&file.path).status();
    let status = status.with_context(|| {
        format!("cannot start the editor `{editor}`; name another one in EDITOR")
    })?;
    ensure!(status.success(), "the editor `{editor}` failed; nothing was changed");
    let name = file.name();
    let edited =
        std::fs::read_to_string(&file.path).with_context(|| format!("cannot read {name}"))?;
    let parsed = file.keep_if_failed(parse(&name, &edited))?;
    Ok((parsed, file))
}

/// A file that only its owner can read, which is removed with this unless it is kept.
pub(crate) struct EditedFile {
    path: PathBuf,
    kept: Cell<bool>,
}

impl EditedFile {
    fn create(text: &str, ending: &str) -> anyhow::Result<Self> {
        let id: String = random::hex()?.chars().take(12).collect();
        let path = std::env::temp_dir().join(format!("ostler-{id}.{ending}"));
        let name = path.display().to_string();
        let mut options = OpenOptions::new();
        let created = options.write(true).create_new(true).mode(0o600).open(&path);
        let mut file = created.with_context(|| format!("cannot write {name}"))?;
        let edited = Self { path, kept: Cell::new(false) };
        file.write_all(text.as_bytes()).with_context(|| format!("cannot write {name}"))?;
        Ok(edited)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Keeps the file if the change that it is about was not made, and says where it is.
    pub(crate) fn keep_if_failed<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        result.map_err(|error| {
            self.kept.set(true);
            let name = self.name();
            anyhow::anyhow!("{error:#}\n\nyour text is kept in {name}; nothing was changed")
        })
    }
}

impl Drop for EditedFile {
    fn drop(&mut self) {
        if !self.kept.get() {
            // A file that is left behind is no failure of the command.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Parses the fields of one resource.
fn fields(address: &Address, name: &str, text: &str) -> anyhow::Result<Value> {
    let (found, resource) = parse_fields(address, name, text)?.context("the file is empty")?;
    ensure!(found == *address, "a resource keeps its name; `{found}` would be another one");
    Ok(resource.value().clone())
}
