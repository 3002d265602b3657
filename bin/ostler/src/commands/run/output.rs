//! The output of a run: text as it streams, or events as lines of JSON.

use std::io::{IsTerminal as _, Write as _};

use ostler_engine::model::StopReason;
use ostler_harness::{
    ContextEvent, ContextReport, EventKind, Harness, HarnessEvent, HarnessMessageContent,
    MessageEvent, MessageRole, SessionEvent, SubagentEvent, ToolEvent, TurnEnd,
};
use serde_json::{Value, json};

use super::end;
use crate::screen::DIM;

/// Prints the events of a run.
pub(super) struct RunOutput {
    json: bool,
    /// Whether text is printed as it streams. A pipe gets complete answers only, because
    /// nothing that was printed can be taken back.
    streams: bool,
    /// Whether the last text did not end with a newline.
    mid_line: bool,
    /// Whether the answer that streams in has been printed so far.
    printed: bool,
}

impl RunOutput {
    pub(super) fn new(json: bool) -> Self {
        let streams = std::io::stdout().is_terminal();
        Self { json, streams, mid_line: false, printed: false }
    }

    /// Prints an event.
    pub(super) fn event(&mut self, event: &HarnessEvent) {
        if self.json {
            let line = serde_json::to_string(event).unwrap_or_default();
            return print_line(&line);
        }
        let depth = event.ext.path.len();
        match &event.kind {
            EventKind::Message(MessageEvent::MessageUpdate { .. }) if self.streams => {
                if let Some(delta) = event.ext.more.get("delta").and_then(Value::as_str) {
                    self.text(delta);
                    self.printed = true;
                }
            }
            EventKind::Message(MessageEvent::MessageEnd { message })
                if message.role == MessageRole::Assistant =>
            {
                if !std::mem::take(&mut self.printed) {
                    for part in &message.content {
                        if let HarnessMessageContent::Text { text } = part {
                            self.text(text);
                        }
                    }
                }
                self.end_line();
            }
            EventKind::Context(ContextEvent::ContextUpdated(report)) => self.context(report),
            EventKind::Context(ContextEvent::ContextCompacted { messages, .. }) => {
                self.note(depth, &format!("{messages} old messages have left the prompt"));
            }
            EventKind::Tool(ToolEvent::ToolStart { tool_name, args, .. }) => {
                self.note(depth, &format!("→ {tool_name} {args}"));
            }
            EventKind::Tool(ToolEvent::ToolEnd { .. }) => {
                let detail = |name: &str| event.ext.more.get(name).and_then(Value::as_str);
                let (tool, status) = (detail("toolName"), detail("status"));
                let (tool, status) = (tool.unwrap_or_default(), status.unwrap_or_default());
                // A call that was refused says why.
                let why = detail("why").map(|why| format!(" ({why})")).unwrap_or_default();
                self.note(depth, &format!("← {tool}: {status}{why}"));
            }
            EventKind::Subagent(SubagentEvent::SubagentStart { agent_type, task }) => {
                self.note(depth, &format!("{agent_type}: {task}"));
            }
            EventKind::Subagent(SubagentEvent::SubagentEnd { agent_type, duration_ms }) => {
                self.note(depth, &format!("{agent_type} finished after {duration_ms} ms"));
            }
            EventKind::Session(SessionEvent::PermissionRulesLoaded { notes, .. }) => {
                notes.iter().for_each(|text| self.note(depth, text));
            }
            EventKind::Session(SessionEvent::Error { error, retryable: Some(true) }) => {
                if self.printed {
                    self.note(depth, "(the text above is discarded)");
                    self.printed = false;
                }
                self.note(depth, error);
            }
            _ => {}
        }
    }

    /// Prints what the prompt has from the workspace, and what is wrong with it.
    fn context(&mut self, report: &ContextReport) {
        let files = report.instructions.iter().map(|file| file.path.clone());
        let skills = report.skills.iter().map(|skill| format!("skill {}", skill.name));
        let mentions = report.mentions.iter().map(|path| format!("@{path}"));
        let all: Vec<String> = files.chain(skills).chain(mentions).collect();
        if !all.is_empty() {
            let budget = report.budget;
            let total = format!("{} of {} tokens", budget.workspace, budget.total);
            self.note(0, &format!("context: {} ({total} from the workspace)", all.join(", ")));
        }
        for problem in &report.problems {
            self.note(0, problem);
        }
    }

    /// Prints the summary of a finished run.
    pub(super) async fn finish(&mut self, end: &TurnEnd, harness: &Harness) {
        let thread = harness.current_thread().await;
        let (usage, credits) = thread.as_ref().map_or_else(Default::default, |thread| {
            (thread.metadata.token_usage, thread.metadata.credits_spent)
        });
        if self.json {
            let summary = json!({
                "type": "summary",
                "end": end,
                "usage": usage,
                "credits": credits,
                "threadId": thread.map(|thread| thread.id),
            });
            return print_line(&summary.to_string());
        }
        self.end_line();
        if let Some(message) = end::message(end) {
            anstream::eprintln!("{message}");
        }
        let (input, output) = (usage.prompt_tokens, usage.completion_tokens);
        let unit = if credits == 1 { "credit" } else { "credits" };
        anstream::eprintln!("{DIM}{input} tokens in, {output} out, {credits} {unit}{DIM:#}");
    }

    fn text(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A reader that is gone is not an error.
        let _ = write!(out, "{text}").and_then(|()| out.flush());
        self.mid_line = !text.ends_with('\n');
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            print_line("");
        }
    }

    fn note(&mut self, depth: usize, text: &str) {
        self.end_line();
        let indent = "  ".repeat(depth);
        anstream::eprintln!("{DIM}{indent}{text}{DIM:#}");
    }
}

fn print_line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Returns whether an answer is not what the model wanted to say.
pub(super) const fn is_cut_off(stop: StopReason) -> bool {
    matches!(stop, StopReason::MaxTokens | StopReason::Filtered)
}
