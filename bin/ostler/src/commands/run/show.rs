//! What is seen of a run: words as they come, or events as lines of JSON.

use std::convert::Infallible;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::history::CallId;
use ostler_engine::outcome::Outcome;
use ostler_engine::turn::{End, Event, Path, Turn};
use serde_json::json;

use super::end;
use crate::screen::QUIET;

/// Where a run is shown. Nothing is stored: it is one prompt.
pub(super) struct Screen {
    json: bool,
    /// Whether the last word was not followed by a new line.
    mid_line: Mutex<bool>,
}

impl Screen {
    pub(super) const fn new(json: bool) -> Self {
        Self { json, mid_line: Mutex::new(false) }
    }

    /// The last that is shown.
    pub(super) fn finish(&self, end: &End, turn: &Turn) {
        let account = turn.account();
        let credits: u64 = account.charges().iter().map(|charge| charge.amount.get()).sum();
        if self.json {
            let last = json!({
                "event": "summary",
                "end": end,
                "usage": account.usage,
                "credits": credits,
                "steps": account.steps,
                "decisions": account.decisions,
                "said": turn.said(),
            });
            return self.line(&last.to_string());
        }
        self.new_line();
        if let Some(sentence) = end::sentence(end) {
            anstream::eprintln!("{sentence}");
        }
        let (input, output) = (account.usage.input, account.usage.output);
        anstream::eprintln!("{QUIET}{input} tokens in, {output} out, {credits} credits{QUIET:#}");
    }

    fn line(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // Nobody may be reading any more.
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }

    fn say(&self, text: &str) {
        let mut mid_line = self.mid_line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = std::io::stdout().lock();
        let _ = write!(out, "{text}").and_then(|()| out.flush());
        *mid_line = !text.ends_with('\n');
    }

    fn new_line(&self) {
        let mut mid_line = self.mid_line.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *mid_line) {
            println!();
        }
    }

    fn note(&self, path: &Path, text: &str) {
        self.new_line();
        let indent = "  ".repeat(path.len());
        anstream::eprintln!("{QUIET}{indent}{text}{QUIET:#}");
    }

    fn show(&self, path: &Path, event: &Event) {
        match event {
            Event::Text { text } if path.is_empty() => self.say(text),
            Event::DraftDiscarded => self.note(path, "(what it said is void)"),
            Event::Restarted(restart) => {
                self.note(
                    path,
                    &format!("{}: {}; asking {}", restart.failed, restart.why, restart.model),
                );
            }
            Event::Decided(judgement) => {
                self.note(path, &format!("→ {} ({})", judgement.tool, judgement.verdict));
            }
            Event::CallEnded { tool, status, .. } => {
                let status = serde_json::to_value(status).unwrap_or_default();
                self.note(path, &format!("← {tool}: {}", status.as_str().unwrap_or_default()));
            }
            Event::SubagentStarted { agent_type, task } => {
                self.note(path, &format!("{agent_type}: {task}"));
            }
            Event::SubagentEnded { agent_type, duration_ms } => {
                self.note(path, &format!("{agent_type} is done after {duration_ms} ms"));
            }
            _ => {}
        }
    }
}

impl Host for Screen {
    type Error = Infallible;

    async fn checkpoint(&self, _: &Turn, _: &[Intent]) -> Result<(), Infallible> {
        Ok(())
    }

    async fn outcome(&self, _: &Path, _: &CallId, _: &Outcome) -> Result<(), Infallible> {
        Ok(())
    }

    async fn top_up(&self, _: Credits) -> Credits {
        Credits::ZERO
    }

    fn event(&self, path: &Path, event: &Event) {
        if !self.json {
            return self.show(path, event);
        }
        let mut line = serde_json::to_value(event).unwrap_or_default();
        if let (Some(line), false) = (line.as_object_mut(), path.is_empty()) {
            line.insert("path".into(), json!(path));
        }
        self.line(&line.to_string());
    }

    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
