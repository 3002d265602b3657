//! The output of a run: text as it streams, or events as lines of JSON.

use std::convert::Infallible;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::history::CallId;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::turn::{AgentPath, Turn, TurnEnd, TurnEvent};
use serde_json::json;

use super::end;
use crate::screen::DIM;

/// Prints the events of a run. Nothing is stored.
pub(super) struct RunOutput {
    json: bool,
    /// Whether the last text did not end with a newline.
    mid_line: Mutex<bool>,
}

impl RunOutput {
    pub(super) const fn new(json: bool) -> Self {
        Self { json, mid_line: Mutex::new(false) }
    }

    /// Prints the summary of a finished run.
    pub(super) fn finish(&self, end: &TurnEnd, turn: &Turn) {
        let account = turn.account();
        let credits: u64 = account.charges().iter().map(|charge| charge.amount.get()).sum();
        if self.json {
            let summary = json!({
                "event": "summary",
                "end": end,
                "usage": account.usage,
                "credits": credits,
                "steps": account.steps,
                "decisions": account.decisions,
                "said": turn.new_items(),
            });
            return self.print_line(&summary.to_string());
        }
        self.end_line();
        if let Some(message) = end::message(end) {
            anstream::eprintln!("{message}");
        }
        let (input, output) = (account.usage.input, account.usage.output);
        let unit = if credits == 1 { "credit" } else { "credits" };
        anstream::eprintln!("{DIM}{input} tokens in, {output} out, {credits} {unit}{DIM:#}");
    }

    fn print_line(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A reader that is gone is not an error.
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }

    fn print_text(&self, text: &str) {
        let mut mid_line = self.mid_line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = std::io::stdout().lock();
        let _ = write!(out, "{text}").and_then(|()| out.flush());
        *mid_line = !text.ends_with('\n');
    }

    fn end_line(&self) {
        let mut mid_line = self.mid_line.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *mid_line) {
            println!();
        }
    }

    fn print_note(&self, path: &AgentPath, text: &str) {
        self.end_line();
        let indent = "  ".repeat(path.len());
        anstream::eprintln!("{DIM}{indent}{text}{DIM:#}");
    }

    fn print_event(&self, path: &AgentPath, event: &TurnEvent) {
        match event {
            TurnEvent::Text { text } if path.is_empty() => self.print_text(text),
            TurnEvent::DraftDiscarded => self.print_note(path, "(the text above is discarded)"),
            TurnEvent::Restarted(restart) => {
                let why = restart.why.clone();
                let why = why.trim_end_matches('.');
                let text = format!("{}: {why}; trying {}", restart.failed, restart.model);
                self.print_note(path, &text);
            }
            TurnEvent::Decided(judgement) => {
                self.print_note(path, &format!("→ {} ({})", judgement.tool, judgement.verdict));
            }
            TurnEvent::CallEnded { tool, status, .. } => {
                let status = serde_json::to_value(status).unwrap_or_default();
                self.print_note(
                    path,
                    &format!("← {tool}: {}", status.as_str().unwrap_or_default()),
                );
            }
            TurnEvent::SubagentStarted { agent_type, task } => {
                self.print_note(path, &format!("{agent_type}: {task}"));
            }
            TurnEvent::SubagentEnded { agent_type, duration_ms } => {
                self.print_note(path, &format!("{agent_type} finished after {duration_ms} ms"));
            }
            _ => {}
        }
    }
}

impl Host for RunOutput {
    type Error = Infallible;

    async fn checkpoint(&self, _: &Turn, _: &[Intent]) -> Result<(), Infallible> {
        Ok(())
    }

    async fn store_outcome(
        &self,
        _: &AgentPath,
        _: &CallId,
        _: &ToolOutcome,
    ) -> Result<(), Infallible> {
        Ok(())
    }

    async fn top_up(&self, _: Credits) -> Credits {
        Credits::ZERO
    }

    fn on_event(&self, path: &AgentPath, event: &TurnEvent) {
        if !self.json {
            return self.print_event(path, event);
        }
        let mut line = serde_json::to_value(event).unwrap_or_default();
        if let (Some(line), false) = (line.as_object_mut(), path.is_empty()) {
            line.insert("path".into(), json!(path));
        }
        self.print_line(&line.to_string());
    }

    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
