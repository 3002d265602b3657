//! What a change of rules would have meant for recorded calls, for people and programs.

use ostler_api::resource::{CallReplay, VerdictChange};
use ostler_domain::gate::{DenyReason, GateDecision};
use serde_json::{Value, json};

use crate::commands::rfc3339;
use crate::screen::{BAD, Cell, DIM, GOOD, HEADER, WARNING, format_rows, shorten, thousands};

/// Prints the calls that would have been decided differently.
pub(crate) fn print_replay(replay: &CallReplay) {
    anstream::println!("{}", summary(replay));
    if !replay.changes.is_empty() {
        anstream::println!();
        print_changes(&replay.changes);
    }
    anstream::println!();
}

fn summary(replay: &CallReplay) -> String {
    let days = match replay.days {
        1 => "last day".to_owned(),
        days => format!("last {days} days"),
    };
    let calls = match replay.truncated {
        true => format!("the newest {} tool calls", thousands(replay.calls as u64)),
        false => format!("{} tool calls", thousands(replay.calls as u64)),
    };
    let changed: usize = replay.changes.iter().map(|change| change.calls).sum();
    match (replay.calls, changed) {
        (0, _) => format!("no tool calls are recorded in the {days}"),
        (_, 0) => format!("of {calls} in the {days}, none would be decided differently"),
        (_, changed) => {
            let changed = thousands(changed as u64);
            format!("of {calls} in the {days}, {changed} would be decided differently:")
        }
    }
}

/// Prints a line for each change, with the reasons below it.
fn print_changes(changes: &[VerdictChange]) {
    let header = ["calls", "agent", "tool", "now", "then", "newest in"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(changes.iter().map(|change| {
        [
            thousands(change.calls as u64).into(),
            shorten(&format!("{}/{}", change.org, change.agent), 20).into(),
            shorten(&change.tool, 24).into(),
            verdict(&change.from),
            verdict(&change.to),
            change.example.session.short().into(),
        ]
    }));
    let mut lines = format_rows(&rows).into_iter();
    anstream::println!("{}", lines.next().unwrap_or_default());
    for (line, change) in lines.zip(changes) {
        let reasons = format!("now: {}; then: {}", reason(&change.from), reason(&change.to));
        anstream::println!("{line}\n{DIM}    {}{DIM:#}", shorten(&reasons, 76));
    }
}

/// Returns the reason of a decision; for a tool that was removed, with the stage.
fn reason(decision: &Value) -> String {
    match read(decision) {
        Some(GateDecision::Deny(DenyReason::OutOfScope(removal))) => {
            format!("{}, {removal}", removal.stage().name())
        }
        Some(other) => other.to_string(),
        None => decision.to_string(),
    }
}

fn verdict(decision: &Value) -> Cell {
    match read(decision) {
        Some(GateDecision::Allow(_)) => Cell::styled("runs", GOOD),
        Some(GateDecision::Ask(_)) => Cell::styled("asks", WARNING),
        Some(GateDecision::Deny(_)) => Cell::styled("refused", BAD),
        None => Cell::from("unknown"),
    }
}

/// Reads a decision; `None` if a newer server made it for another reason.
fn read(decision: &Value) -> Option<GateDecision> {
    serde_json::from_value(decision.clone()).ok()
}

/// Returns the same as JSON.
pub(crate) fn replay_json(replay: &CallReplay) -> Value {
    let changes = replay.changes.iter().map(|change| {
        json!({
            "org": change.org,
            "agent": change.agent,
            "tool": change.tool,
            "from": change.from,
            "to": change.to,
            "calls": change.calls,
            "example": {
                "session": change.example.session,
                "run": change.example.run,
                "at": rfc3339(change.example.at),
            },
        })
    });
    json!({
        "days": replay.days,
        "calls": replay.calls,
        "truncated": replay.truncated,
        "changes": changes.collect::<Vec<_>>(),
    })
}
