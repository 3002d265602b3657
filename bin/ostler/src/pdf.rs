//! The text of PDF files.
//!
//! A PDF may come from anybody, and the library that reads it can panic, overflow the
//! stack or never end. It therefore runs in a child process with little time and
//! memory, without the environment and without the network, whose exit code is the result.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ostler_domain::message::MAX_BLOB_BYTES;
use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::process::Command;

/// The time limit of the child process.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The memory limit of the child process, in bytes.
const MEMORY_LIMIT: u64 = 2 << 30;
/// The stack size for parsing nested objects, in bytes.
const STACK_SIZE: usize = 64 << 20;
/// The most bytes of text that are printed; a valid document has far fewer.
const TEXT_LIMIT: usize = 16 << 20;
/// The exit code for an encrypted file.
const ENCRYPTED: u8 = 3;

/// Returns whether these bytes are a PDF; some files have other bytes before the header.
pub(crate) fn is_pdf(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(1024)];
    start.windows(5).any(|window| window == b"%PDF-")
}

/// Returns the text of a PDF, extracted by a child process.
pub(crate) async fn extract_text(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let size = std::fs::metadata(file).with_context(|| format!("cannot read {name}"))?.len();
    if size > MAX_BLOB_BYTES as u64 {
        bail!("{name} is larger than {} MiB; split it into several files", MAX_BLOB_BYTES >> 20);
    }
    let program = std::env::current_exe()?;
    let child = child(&program).arg("pdf-text").arg("--").arg(file).output();
    let Ok(output) = tokio::time::timeout(TIMEOUT, child).await else {
        bail!("{name} could not be read within {} seconds; save it as text", TIMEOUT.as_secs());
    };
    let output = output.with_context(|| format!("cannot read {name}"))?;
    match output.status.code() {
        Some(0) => {}
        Some(code) if code == i32::from(ENCRYPTED) => {
            bail!("{name} is protected by a password; save it without one and add it again");
        }
        _ => bail!(
            "{name} cannot be read: it is damaged or has an unknown format; print it into a \
             new PDF or save it as text"
        ),
    }
    let text = tidy(&String::from_utf8_lossy(&output.stdout));
    if text.is_empty() {
        bail!(
            "{name} contains no text, only pictures, like a scan; recognize its text with an OCR \
             program and add the result"
        );
    }
    Ok(text)
}

/// Returns a program as a child that inherits nothing: no variables, which may hold secrets,
/// and no input.
fn child(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command
}

/// Trims lines, and reduces several empty lines to one.
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

/// Prints the text of a PDF; runs in the child process.
pub(crate) fn print_text(file: &Path) -> anyhow::Result<ExitCode> {
    let mut file = File::open(file)?;
    let limit = |amount| Rlimit { current: Some(amount), maximum: Some(amount) };
    setrlimit(Resource::Cpu, limit(TIMEOUT.as_secs()))?;
    setrlimit(Resource::As, limit(MEMORY_LIMIT))?;
    setrlimit(Resource::Core, limit(0))?;
    // From here on nothing is opened: no connection and no other file.
    setrlimit(Resource::Nofile, limit(0))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let encrypted = bytes.windows(8).any(|window| window == b"/Encrypt");
    let extract = move || pdf_extract::extract_text_from_mem(&bytes);
    let thread = std::thread::Builder::new().stack_size(STACK_SIZE).spawn(extract)?;
    match thread.join() {
        Ok(Ok(text)) if !encrypted || !text.trim().is_empty() => {
            let end = text.floor_char_boundary(TEXT_LIMIT);
            std::io::stdout().write_all(&text.as_bytes()[..end])?;
            Ok(ExitCode::SUCCESS)
        }
        _ if encrypted => Ok(ExitCode::from(ENCRYPTED)),
        _ => Ok(ExitCode::FAILURE),
    }
}

#[cfg(test)]
mod tests {
    use super::{child, tidy};

    #[tokio::test]
    async fn s15_the_child_inherits_no_variables() {
        let output = child("/usr/bin/env".as_ref()).output().await.expect("it runs");
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    }

    #[test]
    fn several_empty_lines_become_one() {
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
