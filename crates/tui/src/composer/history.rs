//! Messages that were sent before, and the draft that survives a crash. Both are files;
//! nothing that happens to them stops the conversation.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// How many messages are kept.
const MAX_ENTRIES: usize = 1000;
/// Longer messages are not kept.
const MAX_BYTES: usize = 64 * 1024;

/// The messages that were sent, the newest last.
#[derive(Debug, Default)]
pub(crate) struct History {
    file: Option<PathBuf>,
    entries: Vec<String>,
    /// The entry that is shown, and what was being written before.
    shown: Option<(usize, String)>,
}

impl History {
    /// Reads the file; one that cannot be read is an empty history.
    pub(crate) fn open(file: Option<PathBuf>) -> Self {
        let text =
            file.as_deref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let all: Vec<String> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let from = all.len().saturating_sub(MAX_ENTRIES);
        let entries = all[from..].to_vec();
        if let Some(file) = file.as_deref().filter(|_| from > MAX_ENTRIES) {
            let lines: String = entries.iter().map(|entry| json_line(entry)).collect();
            write_privately(file, &lines);
        }
        Self { file, entries, shown: None }
    }

    pub(crate) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Takes note of a message that was sent.
    pub(crate) fn add(&mut self, text: &str) {
        self.shown = None;
        if text.trim().is_empty()
            || text.len() > MAX_BYTES
            || self.entries.last().is_some_and(|last| last == text)
        {
            return;
        }
        self.entries.push(text.to_owned());
        if let Some(file) = &self.file
            && let Ok(mut opened) = open_privately(file, true)
        {
            let _ = opened.write_all(json_line(text).as_bytes());
        }
    }

    /// Returns the entry before the one that is shown. What is being written is kept.
    pub(crate) fn older(&mut self, current: &str) -> Option<String> {
        let (at, kept) = match self.shown.take() {
            Some((0, kept)) => {
                self.shown = Some((0, kept));
                return None;
            }
            Some((at, kept)) => (at - 1, kept),
            None => (self.entries.len().checked_sub(1)?, current.to_owned()),
        };
        self.shown = Some((at, kept));
        self.entries.get(at).cloned()
    }

    /// Returns the entry after the one that is shown, and at last what was being written.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let (at, kept) = self.shown.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                let entry = entry.clone();
                self.shown = Some((at + 1, kept));
                Some(entry)
            }
            None => Some(kept),
        }
    }
}

/// Reads a draft.
pub(crate) fn read_draft(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok().filter(|text| !text.is_empty())
}

/// Stores a draft; an empty one deletes the file.
pub(crate) fn write_draft(file: &Path, text: &str) {
    if text.is_empty() {
        let _ = fs::remove_file(file);
    } else {
        write_privately(file, text);
    }
}

fn json_line(text: &str) -> String {
    serde_json::to_string(text).map(|line| line + "\n").unwrap_or_default()
}

/// Writes a file that replaces the old one at once.
fn write_privately(file: &Path, text: &str) {
    // Several programs may write the same file.
    let mut new = file.as_os_str().to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(new);
    let written =
        open_privately(&new, false).and_then(|mut opened| opened.write_all(text.as_bytes()));
    if written.is_ok() {
        let _ = fs::rename(&new, file);
    }
}

fn open_privately(file: &Path, append: bool) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).append(append).write(true).truncate(!append);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

#[cfg(test)]
mod tests {
    use super::{History, read_draft, write_draft};

    #[test]
    fn m43_the_history_keeps_what_was_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let mut history = History::open(Some(file.clone()));
        history.add("one");
        history.add("two\nlines");
        history.add("two\nlines");
        let mut history = History::open(Some(file));
        assert_eq!(history.entries(), ["one", "two\nlines"]);
        assert_eq!(history.older("draft").as_deref(), Some("two\nlines"));
        assert_eq!(history.older("").as_deref(), Some("one"));
        assert_eq!(history.older(""), None);
        assert_eq!(history.newer().as_deref(), Some("two\nlines"));
        assert_eq!(history.newer().as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn m43_a_draft_survives() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("draft");
        write_draft(&file, "half a sent");
        assert_eq!(read_draft(&file).as_deref(), Some("half a sent"));
        write_draft(&file, "");
        assert_eq!(read_draft(&file), None);
    }
}
