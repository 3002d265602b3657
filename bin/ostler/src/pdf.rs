//! The words of a PDF.
//!
//! They are read in a process of its own. Anybody may have written the file, and a
//! library that reads it can panic, run out of stack or never come to an end; that
//! must not happen to whoever asked. The other process has little time and memory,
//! and its last word is its exit code.

use std::io::Write as _;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ostler_domain::message::MAX_BLOB_BYTES;
use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::process::Command;

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most memory, in bytes.
const MEMORY: u64 = 2 << 30;
/// The stack that nested things are read on.
const STACK: usize = 64 << 20;
/// The most bytes of text; a document has far fewer.
const MOST_TEXT: usize = 16 << 20;
/// The exit code for a file that only a password opens.
const LOCKED: u8 = 3;

/// Whether these bytes are a PDF's. Some begin with a few others.
pub(crate) fn is_pdf(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(1024)];
    start.windows(5).any(|window| window == b"%PDF-")
}

/// The words of a PDF.
pub(crate) async fn text(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let size = std::fs::metadata(file).with_context(|| format!("cannot read {name}"))?.len();
    if size > MAX_BLOB_BYTES as u64 {
        bail!("{name} is larger than {} MiB; divide it into several", MAX_BLOB_BYTES >> 20);
    }
    let reading = Command::new(std::env::current_exe()?)
        .arg("pdf-text")
        .arg("--")
        .arg(file)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let Ok(output) = tokio::time::timeout(PATIENCE, reading).await else {
        bail!("{name} could not be read within {} seconds; save it as text", PATIENCE.as_secs());
    };
    let output = output.with_context(|| format!("cannot read {name}"))?;
    match output.status.code() {
        Some(0) => {}
        Some(code) if code == i32::from(LOCKED) => {
            bail!("{name} is locked with a password; save it without one and add it again");
        }
        _ => bail!(
            "{name} cannot be read: it is damaged, or of a kind that is not understood; print it \
             into a new PDF or save it as text"
        ),
    }
    let text = tidy(&String::from_utf8_lossy(&output.stdout));
    if text.is_empty() {
        bail!(
            "{name} has no text in it, only pictures, as scans do; have a program recognize the \
             text (OCR) and add what it writes"
        );
    }
    Ok(text)
}

/// Without the empty lines and blanks that stand for distances on paper.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(|line| line.trim_matches(|c: char| c.is_whitespace())) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= 1 && !(tidy.is_empty() && line.is_empty()) {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy.trim_end().to_owned()
}

/// What the other process does: prints the words of a file.
pub(crate) fn print(file: &Path) -> anyhow::Result<ExitCode> {
    let most = |amount| Rlimit { current: Some(amount), maximum: Some(amount) };
    setrlimit(Resource::Cpu, most(PATIENCE.as_secs()))?;
    setrlimit(Resource::As, most(MEMORY))?;
    setrlimit(Resource::Core, most(0))?;
    let bytes = std::fs::read(file)?;
    let locked = bytes.windows(8).any(|window| window == b"/Encrypt");
    let read = move || pdf_extract::extract_text_from_mem(&bytes);
    let reading = std::thread::Builder::new().stack_size(STACK).spawn(read)?;
    match reading.join() {
        Ok(Ok(text)) if !locked || !text.trim().is_empty() => {
            let end = text.floor_char_boundary(MOST_TEXT);
            std::io::stdout().write_all(&text.as_bytes()[..end])?;
            Ok(ExitCode::SUCCESS)
        }
        _ if locked => Ok(ExitCode::from(LOCKED)),
        _ => Ok(ExitCode::FAILURE),
    }
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn distances_on_paper_are_one_empty_line() {
        for (text, tidied) in [
            ("", ""),
            ("\n \n", ""),
            (
                "\n\nMenu  \n\n\n\n  Margherita 8.50\nMarinara 7.50\n\n",
                "Menu\n\nMargherita 8.50\nMarinara 7.50",
            ),
        ] {
            assert_eq!(tidy(text), tidied, "{text:?}");
        }
    }
}
