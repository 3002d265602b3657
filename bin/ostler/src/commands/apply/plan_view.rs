//! A plan for people and programs.

use ostler_api::resource::{ResourceAction, ResourceChange, ResourcePlan};
use serde_json::Value;

use crate::screen::{BAD, DIM, GOOD, HEADER, WARNING};

/// The longest value that is shown whole.
const MAX_VALUE: usize = 60;

/// Prints what a plan changes.
pub(crate) fn print_plan(plan: &ResourcePlan) {
    for change in &plan.changes {
        print_change(change);
    }
    if !plan.drift.is_empty() {
        anstream::println!("{WARNING}changed live since the last apply{WARNING:#}");
        for drift in &plan.drift {
            anstream::println!("  {HEADER}{}{HEADER:#} {}", drift.resource, drift.path);
            let (applied, live, file) =
                (short(&drift.applied), short(&drift.live), short(&drift.file));
            anstream::println!("    applied {applied}  live {live}  file {file}");
        }
        anstream::println!();
    }
}

fn print_change(change: &ResourceChange) {
    let (sign, style) = match change.action {
        ResourceAction::Create => ("+", GOOD),
        ResourceAction::Change => ("~", WARNING),
        ResourceAction::Remove => ("-", BAD),
    };
    anstream::println!("{style}{sign}{style:#} {HEADER}{}{HEADER:#}", change.resource);
    for field in &change.fields {
        let (path, new) = (&field.path, short(&field.new));
        match (change.action, &field.old) {
            (ResourceAction::Create, _) => anstream::println!("    {DIM}{path}{DIM:#} {new}"),
            (_, old) => anstream::println!("    {DIM}{path}{DIM:#} {} → {new}", short(old)),
        }
    }
    anstream::println!();
}

/// Says in a line how much changes, with the counts of business data.
pub(super) fn summary(plan: &ResourcePlan, data: Vec<String>) -> String {
    let count = |action| plan.changes.iter().filter(|change| change.action == action).count();
    let parts: Vec<String> = [
        (count(ResourceAction::Create), "to create"),
        (count(ResourceAction::Change), "to change"),
        (count(ResourceAction::Remove), "to archive or remove"),
        (plan.drift.len(), "changed live"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .chain(data)
    .collect();
    if parts.is_empty() { "nothing to change".to_owned() } else { parts.join(", ") }
}

/// Formats a value in one line; a long one is cut.
pub(crate) fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => return "(not set)".to_owned(),
        Value::String(text) => format!("\"{}\"", text.replace('\n', " ")),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
