//! A workflow as a Mermaid flowchart.

use std::fmt::Write as _;

use super::{StepLook, arrows, work_name};
use crate::workflow::{WorkflowDefinition, WorkflowProgress};

/// The longest condition on an arrow, in characters.
const MAX_CONDITION: usize = 60;

/// Returns a workflow as a Mermaid flowchart; with progress, each step has its state.
pub fn mermaid(definition: &WorkflowDefinition, progress: Option<&WorkflowProgress>) -> String {
    let steps = definition.steps();
    let mut text = "flowchart TD\n".to_owned();
    for (at, step) in steps.iter().enumerate() {
        let (id, work) = (escape(step.id.as_str()), escape(&work_name(step)));
        let _ = writeln!(text, "  s{at}[\"<b>{id}</b><br/>{work}\"]");
    }
    for (from, to) in arrows(definition) {
        match &steps[to].when {
            Some(when) => {
                let short: String = when.as_str().chars().take(MAX_CONDITION).collect();
                let _ = writeln!(text, "  s{from} -->|\"{}\"| s{to}", escape(&short));
            }
            None => {
                let _ = writeln!(text, "  s{from} --> s{to}");
            }
        }
    }
    if progress.is_some() {
        for look in StepLook::ALL {
            let with_look = steps.iter().enumerate();
            let with_look = with_look.filter(|(_, step)| StepLook::of(step, progress) == look);
            let names: Vec<String> = with_look.map(|(at, _)| format!("s{at}")).collect();
            if !names.is_empty() {
                let ((fill, border), name) = (look.colors(), look.name());
                let _ = writeln!(text, "  classDef {name} fill:{fill},stroke:{border}");
                let _ = writeln!(text, "  class {} {name}", names.join(","));
            }
        }
    }
    text
}

/// Replaces what ends a text in Mermaid, or is markup in it.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("#quot;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '#' => escaped.push_str("#35;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
