//! The terminal: raw mode, bracketed paste, and the way back, also after a panic.

use std::io::{self, Write as _};

use base64::Engine as _;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::{execute, terminal};

/// What brings a terminal back whatever was on it.
const RESET: &str = "\x1b[?2026l\x1b[?7h\x1b[?25h\x1b[0m";

/// A terminal in raw mode. Dropping it brings the terminal back.
#[derive(Debug)]
pub(super) struct Terminal {
    is_raw: bool,
}

impl Terminal {
    pub(super) fn enter() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            leave();
            before(info);
        }));
        let mut terminal = Self { is_raw: false };
        terminal.resume()?;
        Ok(terminal)
    }

    /// Returns columns and rows.
    pub(super) fn size() -> io::Result<(usize, usize)> {
        let (columns, rows) = terminal::size()?;
        // A terminal that does not know its size says zero.
        Ok(match (columns, rows) {
            (0, _) | (_, 0) => (80, 24),
            (columns, rows) => (usize::from(columns), usize::from(rows)),
        })
    }

    pub(super) fn resume(&mut self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        self.is_raw = true;
        execute!(io::stdout(), EnableBracketedPaste)
    }

    pub(super) fn suspend(&mut self) {
        if std::mem::take(&mut self.is_raw) {
            leave();
        }
    }

    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Puts a text into the clipboard of the person's machine, by OSC 52.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        self.write(&format!("\x1b]52;c;{encoded}\x07"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.suspend();
        // What comes after it is not about this terminal.
        drop(std::panic::take_hook());
    }
}

/// Nothing can be done if this fails.
fn leave() {
    let mut out = io::stdout().lock();
    let _ = out.write_all(RESET.as_bytes());
    let _ = execute!(out, DisableBracketedPaste);
    let _ = terminal::disable_raw_mode();
}
