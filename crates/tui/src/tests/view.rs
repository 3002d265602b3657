//! The same events give the same view here and in the dashboard: both reduce what they show
//! of a recording to a neutral list, which is stored beside the recording.
//! `web/src/threads/view.test.ts` is the other half. Notices are left out, because each user
//! interface has words of its own for what the program itself says.

use std::path::PathBuf;

use ostler_api::thread_event::{ThreadEventKind as Kind, ThreadTask};
use serde_json::{Value, json};

use super::recordings::events;
use crate::cells::{Activity, AnswerState, Ask, AskKind, Cell, ToolCell, ToolStatus, Transcript};

fn answer_state(state: &AnswerState) -> &'static str {
    match state {
        AnswerState::Streaming { .. } => "streaming",
        AnswerState::Complete => "complete",
        AnswerState::Stopped => "stopped",
        AnswerState::Discarded => "discarded",
    }
}

fn call_state(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Running => "running",
        ToolStatus::Done => "done",
        ToolStatus::Failed => "failed",
        ToolStatus::Refused => "refused",
        ToolStatus::Abandoned => "abandoned",
    }
}

fn call(one: &ToolCell) -> Value {
    let mut view = json!({
        "kind": "call", "tool": one.tool, "args": one.args, "state": call_state(one.status),
        "output": one.output, "result": one.result, "why": one.why,
    });
    if let Some(agent) = &one.agent {
        let calls: Vec<Value> = agent.calls.iter().map(call).collect();
        view["agent"] = json!({"task": agent.task, "text": agent.text, "calls": calls,
            "ended": agent.duration_ms.is_some()});
    }
    view
}

fn tasks(all: &[ThreadTask]) -> Value {
    all.iter().map(|task| json!({"text": task.content, "state": task.status})).collect()
}

fn cell(one: &Cell) -> Option<Value> {
    Some(match one {
        Cell::User { text, attachments } => {
            json!({"kind": "user", "text": text, "attachments": attachments.len()})
        }
        Cell::Answer(answer) => json!({
            "kind": "answer", "text": answer.text, "state": answer_state(&answer.state),
        }),
        Cell::Tool(tool) => call(tool),
        Cell::Question { question, answer } => {
            json!({"kind": "question", "text": question, "answer": answer})
        }
        Cell::Plan { title, plan, verdict } => {
            json!({"kind": "plan", "title": title, "text": plan, "answer": verdict})
        }
        Cell::Tasks { tasks: all, .. } => json!({"kind": "tasks", "tasks": tasks(all)}),
        Cell::Error(text) => json!({"kind": "error", "text": text}),
        Cell::Notice(_) => return None,
    })
}

fn ask(one: &Ask) -> Value {
    match &one.kind {
        AskKind::Approval { tool, args, why, risk, .. } => {
            json!({"kind": "approval", "tool": tool, "args": args, "why": why, "risk": risk})
        }
        AskKind::Question { question, options } => {
            json!({"kind": "question", "text": question, "options": options})
        }
        AskKind::Plan { title, plan } => json!({"kind": "plan", "title": title, "text": plan}),
    }
}

fn view(of: &Transcript, after: usize) -> Value {
    let activity = match of.activity {
        Activity::Idle => "idle",
        Activity::Working => "working",
        Activity::Interrupted => "interrupted",
    };
    json!({
        "after_events": after,
        "activity": activity,
        "cells": of.cells.iter().filter_map(cell).collect::<Vec<_>>(),
        "asks": of.asks.iter().map(ask).collect::<Vec<_>>(),
        "tasks": tasks(&of.tasks),
        "mode": of.mode,
        "tokens": [of.usage.prompt_tokens, of.usage.completion_tokens],
    })
}

/// The views of a recording: in the middle, at each question, and at the end.
fn views(name: &str) -> Value {
    let recorded = events(name);
    let (middle, last) = (recorded.len() / 2, recorded.len());
    let (mut transcript, mut found) = (Transcript::default(), Vec::new());
    for (number, event) in recorded.into_iter().enumerate() {
        let asks = matches!(
            event.kind,
            Kind::ToolApprovalRequired { .. }
                | Kind::AskQuestion { .. }
                | Kind::PlanApprovalRequired { .. }
        );
        transcript.apply(event);
        let after = number + 1;
        if asks || after == middle || after == last {
            found.push(view(&transcript, after));
        }
    }
    found.into()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../api/fixtures/threads")
}

/// The names of all recordings.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("a folder");
    let names = files.filter_map(|file| {
        let name = file.expect("a file").file_name().to_string_lossy().into_owned();
        Some(name.strip_suffix(".jsonl")?.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// K10: the terminal UI shows of each recording what is stored beside it. After a change that
/// is wanted, delete the file and run the test: it writes what it sees.
#[test]
fn k10_recordings_give_the_stored_view() {
    let mut different = Vec::new();
    let names = names();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        let (seen, file) = (views(&name), folder().join(format!("{name}.view.json")));
        let Ok(text) = std::fs::read_to_string(&file) else {
            let text = serde_json::to_string_pretty(&seen).expect("JSON");
            std::fs::write(&file, format!("{text}\n")).expect("written");
            different.push(format!("{name}: there was no view, it is written now"));
            continue;
        };
        let stored: Value = serde_json::from_str(&text).expect("a view");
        if stored != seen {
            different.push(format!("{name}:\n{seen:#}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
