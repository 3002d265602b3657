//! Cards of tool calls: a line when folded, with what matters of a change or a failure.

use serde_json::Value;

use super::Detail;
use crate::cells::{AgentRun, ToolCell, ToolStatus};
use crate::text::diff;
use crate::text::line::{Line, Span};
use crate::text::sanitize::{one_line, sanitize};
use crate::text::theme::Tone;

/// How many lines of output are shown while a command runs.
const LIVE_LINES: usize = 6;
/// How many lines of a failure are shown folded.
const FAILURE_LINES: usize = 6;
/// How many lines of a change are shown folded.
const CHANGE_LINES: usize = 16;
/// How many calls of a subagent are shown folded.
const AGENT_CALLS: usize = 6;
/// Calls that take less long do not say how long.
const NOTEWORTHY_MS: i64 = 1000;

/// Returns the lines of a call.
pub(super) fn lines(call: &ToolCell, detail: Detail) -> Vec<Line> {
    let change = change(&call.tool, &call.args);
    let mut lines = vec![head(call, change.as_ref())];
    if let Some(agent) = &call.agent {
        lines.extend(agent_lines(agent, call.status, detail));
    }
    if call.status == ToolStatus::Running {
        let output: Vec<&str> = call.output.lines().collect();
        let from = output.len().saturating_sub(LIVE_LINES);
        lines.extend(output[from..].iter().map(|line| output_line(line)));
        return lines;
    }
    match change {
        Some(change) if call.status == ToolStatus::Done => {
            lines.extend(folded(change.lines, CHANGE_LINES, detail));
        }
        _ => lines.extend(result_lines(call, detail)),
    }
    lines
}

fn head(call: &ToolCell, change: Option<&Change>) -> Line {
    let (mark, tone) = match call.status {
        ToolStatus::Running => ("◌", Tone::Accent),
        ToolStatus::Done => ("✓", Tone::Good),
        ToolStatus::Failed => ("✗", Tone::Bad),
        ToolStatus::Refused => ("⊘", Tone::Warning),
        ToolStatus::Abandoned => ("–", Tone::Dim),
    };
    let mut spans = vec![Span::new(format!("{mark} "), tone)];
    spans.extend(title(&call.tool, &call.args));
    if let Some(change) =
        change.filter(|_| matches!(call.status, ToolStatus::Done | ToolStatus::Running))
    {
        spans.push(Span::new(format!("  +{}", change.added), Tone::Added));
        spans.push(Span::new(format!(" -{}", change.removed), Tone::Removed));
    }
    for note in notes(call) {
        spans.push(Span::new(format!("  {note}"), Tone::Dim));
    }
    Line::cut(spans)
}

fn notes(call: &ToolCell) -> Vec<String> {
    let mut notes = Vec::new();
    match call.status {
        ToolStatus::Refused => notes.extend(call.why.clone()),
        ToolStatus::Abandoned => notes.push("not finished".to_owned()),
        ToolStatus::Done if call.agent.is_none() => {
            let lines = call.result.lines().count();
            if lines > 1 && !is_edit(&call.tool) {
                notes.push(format!("{lines} lines"));
            }
        }
        _ => {}
    }
    if call.duration_ms >= NOTEWORTHY_MS {
        notes.push(format!("{}.{} s", call.duration_ms / 1000, call.duration_ms % 1000 / 100));
    }
    notes
}

fn is_edit(tool: &str) -> bool {
    matches!(tool, "write_file" | "edit_file" | "apply_patch")
}

/// Returns what a call does, in words where the tool is known.
pub(super) fn title(tool: &str, args: &Value) -> Vec<Span> {
    let argument =
        |name: &str| args.get(name).and_then(Value::as_str).map(one_line).unwrap_or_default();
    let path = || match argument("path") {
        path if path.is_empty() => ".".to_owned(),
        path => path,
    };
    let named = |verb: &str, what: String| {
        vec![Span::new(format!("{verb} "), Tone::Strong), Span::new(what, Tone::Plain)]
    };
    match tool {
        "read_file" => named("Read", path()),
        "list_files" => named("List", path()),
        "search_files" => named("Search", argument("pattern")),
        "write_file" => named("Write", path()),
        "edit_file" => named("Edit", path()),
        "apply_patch" => named("Patch", String::new()),
        "run_command" => named("$", argument("command")),
        "subagent" => named("Agent", argument("agentType")),
        _ => named(&one_line(tool), arguments(args)),
    }
}

/// Returns arguments in one line.
pub(crate) fn arguments(args: &Value) -> String {
    match args {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| match value {
                Value::String(text) => format!("{name}={}", one_line(text)),
                other => format!("{name}={}", one_line(&other.to_string())),
            });
            fields.collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        other => one_line(&other.to_string()),
    }
}

/// What a call changes in a file.
pub(super) struct Change {
    pub(super) lines: Vec<Line>,
    added: usize,
    removed: usize,
}

/// Returns the change that the arguments of a call describe.
pub(super) fn change(tool: &str, args: &Value) -> Option<Change> {
    let argument = |name: &str| args.get(name).and_then(Value::as_str);
    let (lines, added, removed) = match tool {
        "write_file" => diff::difference("", argument("content")?),
        "edit_file" => diff::difference(argument("old_text")?, argument("new_text")?),
        "apply_patch" => diff::unified(argument("patch")?),
        _ => return None,
    };
    Some(Change { lines, added, removed })
}

fn result_lines(call: &ToolCell, detail: Detail) -> Vec<Line> {
    let text: Vec<&str> = call.result.lines().collect();
    let all = text.iter().map(|line| output_line(line));
    match (detail, call.status) {
        (Detail::Expanded, _) => all.collect(),
        (Detail::Folded, ToolStatus::Failed) => {
            let from = text.len().saturating_sub(FAILURE_LINES);
            let skipped = (from > 0).then(|| more(from, "lines before"));
            skipped.into_iter().chain(all.skip(from)).collect()
        }
        (Detail::Folded, ToolStatus::Refused) if call.why.is_none() => {
            all.take(FAILURE_LINES).collect()
        }
        (Detail::Folded, _) => Vec::new(),
    }
}

fn output_line(line: &str) -> Line {
    Line::code(line, Tone::Dim)
        .with_prefix(Span::new("  ", Tone::Plain), Span::new("  ", Tone::Plain))
}

fn more(count: usize, what: &str) -> Line {
    Line::text(format!("… {count} more {what}"), Tone::Dim).indented(2)
}

/// Returns lines up to a limit, and how many more there are.
pub(super) fn folded(lines: Vec<Line>, limit: usize, detail: Detail) -> Vec<Line> {
    let total = lines.len();
    let limit = if detail == Detail::Expanded || total <= limit + 1 { total } else { limit };
    let mut shown: Vec<Line> = lines.into_iter().take(limit).map(|line| line.indented(2)).collect();
    if limit < total {
        shown.push(more(total - limit, "lines"));
    }
    shown
}

/// The tree of a subagent: its task, its calls, and what it says.
fn agent_lines(agent: &AgentRun, status: ToolStatus, detail: Detail) -> Vec<Line> {
    let mut lines = vec![Line::cut(vec![Span::new(agent.task.clone(), Tone::Dim)]).indented(2)];
    let skipped = match detail {
        Detail::Folded => agent.calls.len().saturating_sub(AGENT_CALLS),
        Detail::Expanded => 0,
    };
    if skipped > 0 {
        lines.push(more(skipped, "calls before"));
    }
    let branch = |span: &str| Span::new(format!("  {span} "), Tone::Dim);
    for call in &agent.calls[skipped..] {
        let mut of_call = self::lines(call, detail).into_iter();
        lines.extend(of_call.next().map(|line| line.with_prefix(branch("├"), branch("│"))));
        lines.extend(of_call.map(|line| line.with_prefix(branch("│"), branch("│"))));
    }
    let said = agent.text.lines().rev().find(|line| !line.trim().is_empty());
    if let Some(said) = said.filter(|_| status == ToolStatus::Running) {
        let line = Line::cut(vec![Span::new(sanitize(said).into_owned(), Tone::Dim)]);
        lines.push(line.with_prefix(branch("└"), branch(" ")));
    }
    if let Some(duration) = agent.duration_ms {
        let calls = match agent.calls.len() {
            1 => "1 call".to_owned(),
            count => format!("{count} calls"),
        };
        let text =
            format!("finished after {}.{} s, {calls}", duration / 1000, duration % 1000 / 100);
        lines.push(Line::text(text, Tone::Dim).with_prefix(branch("└"), branch(" ")));
    }
    lines
}
