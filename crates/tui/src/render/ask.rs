//! What a question shows: the call, the plan or the text, and why it is asked.

use serde_json::Value;

use super::tool::{change, folded, title};
use super::{Detail, marked, plan_lines};
use crate::cells::{Ask, AskKind};
use crate::text::line::{Line, Span, Wrap};
use crate::text::sanitize::sanitize;
use crate::text::theme::Tone;

/// How many lines of a change or of arguments are shown.
const CHANGE_LINES: usize = 14;

/// Returns the lines of a question, without its answers.
pub(crate) fn lines(ask: &Ask) -> Vec<Line> {
    match &ask.kind {
        AskKind::Approval { tool, args, why, risk, .. } => {
            let mut head = vec![Span::new("Allow? ", Tone::Warning)];
            head.extend(title(tool, args));
            let mut lines = vec![Line::new(head, Wrap::Words)];
            match change(tool, args) {
                Some(change) => lines.extend(folded(change.lines, CHANGE_LINES, Detail::Folded)),
                None => lines.extend(folded(arguments(tool, args), CHANGE_LINES, Detail::Folded)),
            }
            let from = match ask.path.len() {
                0 => "",
                _ => "a subagent asks; ",
            };
            let risk_tone = if risk == "destructive" { Tone::Bad } else { Tone::Dim };
            lines.push(Line::new(
                vec![
                    Span::new(from, Tone::Dim),
                    Span::new(format!("risk: {risk}"), risk_tone),
                    Span::new(format!("; {why}"), Tone::Dim),
                ],
                Wrap::Words,
            ));
            lines
        }
        AskKind::Question { question, .. } => marked("? ", Tone::Accent, question, Tone::Strong),
        AskKind::Plan { title, plan } => plan_lines(title.as_deref(), plan),
    }
}

/// Returns arguments that the title does not show whole.
fn arguments(tool: &str, args: &Value) -> Vec<Line> {
    let is_shown = |name: &str| matches!((tool, name), ("run_command", "command") | (_, "path"));
    let mut lines = Vec::new();
    let Value::Object(fields) = args else { return lines };
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        let text = sanitize(&text);
        if is_shown(name) && !text.contains('\n') {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let name = if number == 0 {
                format!("{name}: ")
            } else {
                " ".repeat(name.chars().count() + 2)
            };
            lines.push(Line::new(
                vec![Span::new(name, Tone::Dim), Span::new(line, Tone::Plain)],
                Wrap::Words,
            ));
        }
    }
    lines
}
