//! Lines of a conversation on a screen.

use anstyle::Style;
use ostler_api::transcript::{CallLine, HandoffNote, TranscriptLine};
use unicode_width::UnicodeWidthStr as _;

use super::format_time;
use crate::commands::rule_view::describe_rule;
use crate::screen::{DIM, HEADER, WARNING, shorten, terminal_width, wrap};
use ostler_runtime::delivery::notices::text::format_call;

/// The widest column of names.
const MAX_NAME_WIDTH: usize = 22;
/// The narrowest column of texts.
const MIN_TEXT_WIDTH: usize = 30;
/// How much of the result of a call is shown.
const MAX_RESULT_WIDTH: usize = 160;
/// How much of a call is shown where it is not the topic.
const MAX_BRIEF_WIDTH: usize = 72;

/// How much is shown of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallDetail {
    /// What was called and decided, and what went wrong.
    Brief,
    /// All arguments and the result as well.
    Full,
}

/// Prints lines in columns: time, name and text. Long texts are wrapped, and what belongs
/// to a message or a call is below it.
pub(crate) fn print_lines<'l>(
    lines: impl IntoIterator<Item = &'l TranscriptLine>,
    indent: usize,
    detail: CallDetail,
) {
    let lines: Vec<ScreenLine> =
        lines.into_iter().map(|line| ScreenLine::new(line, detail)).collect();
    let time_width = lines.iter().map(|line| line.time.width()).max().unwrap_or_default();
    let names = lines.iter().map(|line| line.who.width());
    let name_width = names.max().unwrap_or_default().min(MAX_NAME_WIDTH);
    let text_column = indent + time_width + name_width + 4;
    let text_width = terminal_width()
        .map_or(usize::MAX, |width| width.saturating_sub(text_column).max(MIN_TEXT_WIDTH));
    for line in &lines {
        let (time, who) = (&line.time, shorten(&line.who, name_width));
        let padding = name_width - who.width();
        let mut start = format!(
            "{:indent$}{DIM}{time:time_width$}{DIM:#}  {HEADER}{who}{HEADER:#}{:padding$}  ",
            "", ""
        );
        for (text, style, inset) in &line.texts {
            for part in wrap(text, text_width.saturating_sub(*inset)) {
                anstream::println!("{start}{:inset$}{style}{part}{style:#}", "");
                start = " ".repeat(text_column);
            }
        }
    }
}

/// A line with its texts, each with a style and the columns it is inset by.
struct ScreenLine {
    time: String,
    who: String,
    texts: Vec<(String, Style, usize)>,
}

impl ScreenLine {
    fn new(line: &TranscriptLine, detail: CallDetail) -> Self {
        let plain = Style::new();
        let (time, who, texts) = match line {
            TranscriptLine::Message(message) => {
                let mut texts = vec![(message.text.clone(), plain, 0)];
                if let Some(HandoffNote { number, to }) = &message.handoff {
                    texts.push((format!("handoff {number} → {to}"), DIM, 0));
                }
                (format_time(message.at), message.who.clone(), texts)
            }
            TranscriptLine::Call(call) => {
                (String::new(), call.who.clone(), call_texts(call, detail))
            }
            TranscriptLine::Escalation(escalation) => {
                let urgency = escalation.urgency.map_or("", |urgency| urgency.name());
                let reason = &escalation.reason;
                let urgency = match urgency {
                    "" => String::new(),
                    name => format!(" (urgency {name})"),
                };
                let text = format!("⚑ escalated to a human: {reason}{urgency}");
                (String::new(), String::new(), vec![(text, WARNING, 0)])
            }
            TranscriptLine::Change(change) => {
                let texts = vec![(format!("— {}", change.describe()), DIM, 0)];
                (format_time(change.at), change.who.clone(), texts)
            }
        };
        Self { time, who, texts }
    }
}

fn call_texts(call: &CallLine, detail: CallDetail) -> Vec<(String, Style, usize)> {
    let (symbol, word) = match call.decision.as_str() {
        "allow" => ("⚙", "allowed"),
        "ask" => ("⏸", "asks first"),
        _ => ("✗", "denied"),
    };
    let arguments = call.arguments.as_ref().map_or_else(String::new, ToString::to_string);
    let name =
        if arguments.is_empty() { call.tool.clone() } else { format_call(&call.tool, &arguments) };
    let name = if detail == CallDetail::Brief { shorten(&name, MAX_BRIEF_WIDTH) } else { name };
    let approval = call.approval.map_or_else(String::new, |id| format!(" → {id}"));
    let mut texts = vec![
        (format!("{symbol} {name}"), WARNING, 0),
        (format!("{word}: {}{approval}", call.why), DIM, 2),
    ];
    texts.extend(call.rule.iter().map(|rule| (format!("rule: {}", describe_rule(rule)), DIM, 2)));
    let result = shorten(call.result.as_deref().unwrap_or_default(), MAX_RESULT_WIDTH);
    match call.status.as_deref() {
        None | Some("pending_approval" | "denied") => {}
        Some("ok") if detail == CallDetail::Brief => {}
        Some("ok") => texts.push((format!("✓ {result}"), DIM, 2)),
        Some(other) => {
            let status = call.status_text.as_deref().unwrap_or(other);
            texts.push((format!("✗ {status}: {result}"), WARNING, 2));
        }
    }
    texts
}
