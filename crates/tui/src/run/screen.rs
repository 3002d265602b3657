//! Frames: what was not written for good yet goes to the sink, with the live area below it.

use super::ScreenKind;
use super::terminal::Terminal;
use crate::app::{App, Progress};
use crate::sinks::inline::InlineSink;
use crate::sinks::{LiveArea, ansi, full};
use crate::text::line::Row;
use crate::text::theme::Theme;
use crate::text::wrap::wrap_all;

/// What was written to the terminal.
#[derive(Debug)]
pub(crate) struct Screen {
    kind: ScreenKind,
    theme: Theme,
    size: (usize, usize),
    inline: InlineSink,
    progress: Progress,
    /// Everything is written again with the next frame.
    restart: bool,
    /// How many rows the window is above the end, in full screen.
    scrolled: usize,
}

impl Screen {
    pub(crate) fn new(kind: ScreenKind, theme: Theme, size: (usize, usize)) -> Self {
        let (inline, progress) = (InlineSink::default(), Progress::default());
        Self { kind, theme, size, inline, progress, restart: false, scrolled: 0 }
    }

    pub(crate) fn resized(&mut self, size: (usize, usize)) {
        self.size = size;
        self.restart = true;
    }

    pub(super) fn scroll(&mut self, pages: i32) {
        let page = self.size.1.saturating_sub(6).max(1);
        self.scrolled = match pages {
            ..0 => self.scrolled + page,
            _ => self.scrolled.saturating_sub(page),
        };
    }

    pub(super) fn draw(
        &mut self,
        app: &mut App,
        now: u64,
        terminal: &mut Terminal,
    ) -> std::io::Result<()> {
        let frame = self.frame(app, now);
        terminal.write(&frame)?;
        app.drawn(now);
        Ok(())
    }

    /// Returns what is to be written.
    pub(crate) fn frame(&mut self, app: &App, now: u64) -> String {
        let mut out = String::new();
        if self.kind == ScreenKind::Full {
            self.full_frame(app, now, &mut out);
            return out;
        }
        let columns = self.size.0;
        if std::mem::take(&mut self.restart) {
            let (rows, pending) = self.progress.restart(&app.transcript, app.detail, columns);
            let live = app.live_area(&pending, self.size, now);
            self.inline.redraw(&rows, live, columns, self.theme, &mut out);
        } else {
            let (finished, pending) = self.progress.advance(&app.transcript, app.detail);
            let live = app.live_area(&pending, self.size, now);
            self.inline.draw(&wrap_all(&finished, columns), live, columns, self.theme, &mut out);
        }
        out
    }

    fn full_frame(&mut self, app: &App, now: u64, out: &mut String) {
        let (columns, height) = self.size;
        let live: LiveArea = app.live_area(&[], self.size, now);
        let room = height.saturating_sub(live.rows.len());
        let rows =
            crate::app::last_rows(&app.transcript, app.detail, columns, room + self.scrolled);
        self.scrolled = self.scrolled.min(rows.len().saturating_sub(room));
        let end = rows.len() - self.scrolled;
        let window: &[Row] = &rows[end.saturating_sub(room)..end];
        full::draw(window, &live, self.size, self.theme, out);
    }

    pub(super) fn toggle_full(&mut self, terminal: &mut Terminal) -> std::io::Result<()> {
        match self.kind {
            ScreenKind::Full => {
                terminal.write(full::LEAVE)?;
                self.kind = ScreenKind::Inline;
                self.restart = true;
            }
            _ => {
                terminal.write(full::ENTER)?;
                self.kind = ScreenKind::Full;
                self.scrolled = 0;
            }
        }
        Ok(())
    }

    /// Leaves the screen to another program.
    pub(super) fn suspend(&mut self, terminal: &mut Terminal) -> std::io::Result<()> {
        self.leave(terminal)?;
        terminal.suspend();
        if self.kind == ScreenKind::Full {
            self.restart = true;
        }
        Ok(())
    }

    /// Leaves what was written for good.
    pub(super) fn leave(&mut self, terminal: &mut Terminal) -> std::io::Result<()> {
        let mut out = String::new();
        if self.kind == ScreenKind::Full {
            out.push_str(full::LEAVE);
        } else {
            self.inline.finish(&mut out);
        }
        out.push_str(ansi::END_FRAME);
        terminal.write(&out)
    }
}
