//! The line that says what the agent does.

use super::App;
use crate::cells::{Activity, Cell};
use crate::text::line::{Line, Span};
use crate::text::theme::Tone;

const FRAMES: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];
const FRAME_MS: u64 = 120;

/// Returns the picture of the spinner at a time.
pub(super) fn spinner(now: u64) -> &'static str {
    FRAMES[usize::try_from(now / FRAME_MS).unwrap_or(0) % FRAMES.len()]
}

impl App {
    /// Returns whether something moves on the screen.
    pub(crate) fn is_animated(&self) -> bool {
        self.transcript.activity == Activity::Working && self.transcript.asks.is_empty()
    }

    /// Returns the line, at a time in milliseconds since 1970.
    pub(super) fn activity_line(&self, now: u64) -> Option<Line> {
        let transcript = &self.transcript;
        if transcript.activity != Activity::Working || !transcript.asks.is_empty() {
            return None;
        }
        let task = transcript.tasks.iter().find(|task| task.status == "in_progress");
        let running = transcript
            .cells
            .iter()
            .rev()
            .take(16)
            .any(|cell| matches!(cell, Cell::Tool(call) if !call.status.is_final()));
        let what = match task {
            Some(task) => crate::text::sanitize::one_line(&task.active_form),
            None if running => "Running".to_owned(),
            None => "Working".to_owned(),
        };
        let seconds = (i64::try_from(now).unwrap_or(0) - transcript.started_at).max(0) / 1000;
        let key = self.keymap.shown(crate::keymap::Action::Interrupt);
        Some(Line::cut(vec![
            Span::new(format!("{} ", spinner(now)), Tone::Accent),
            Span::new(format!("{what} …"), Tone::Strong),
            Span::new(format!("  {seconds} s, {key} stops"), Tone::Dim),
        ]))
    }
}
