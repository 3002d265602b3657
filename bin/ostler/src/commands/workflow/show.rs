//! `ostler workflow show`.

use anstyle::Style;
use ostler_domain::gate::Verdict;
use ostler_domain::org::Org;
use ostler_runtime::workflow::Asked;
use ostler_runtime::workflow::view::{TaskDetail, WorkflowDetail};

use super::{find, open};
use crate::cli::workflow::On;
use crate::commands::operate::in_words;
use crate::commands::session::view::clock;
use crate::screen::{BAD, Cell, GOOD, HEADER, QUIET, WAITS, print_rows};

pub(super) async fn run(on: &On) -> anyhow::Result<()> {
    let (desk, org) = open(&on.place).await?;
    let id = find(&desk, &org, &on.workflow).await?;
    let detail = desk.office(&org).workflow(id).await?;
    if on.place.output.json {
        return crate::commands::print_json(&detail);
    }
    print(&detail, &org);
    Ok(())
}

/// How a state looks.
pub(super) fn style(state: &str) -> Style {
    match state {
        "done" => GOOD,
        "waits" | "waiting" | "running" | "undoing" => WAITS,
        "failed" | "not undone" => BAD,
        _ => QUIET,
    }
}

/// A sign for a state.
pub(super) fn symbol(state: &str) -> &'static str {
    match state {
        "done" => "✓",
        "waits" => "⏸",
        "running" => "▸",
        "failed" | "not undone" => "✗",
        "undone" => "↶",
        _ => "·",
    }
}

fn print(detail: &WorkflowDetail, org: &Org) {
    let summary = &detail.summary;
    let state = Cell::styled(summary.status.as_str(), style(&summary.status));
    let mut rows = vec![
        [Cell::styled(summary.name.as_str(), HEADER), state],
        ["id".into(), summary.id.to_string().into()],
        ["credits".into(), summary.spent.to_string().into()],
        ["started".into(), clock(summary.created_at).into()],
        ["came on".into(), clock(summary.updated_at).into()],
    ];
    rows.extend(summary.why.iter().map(|why| ["why".into(), why.as_str().into()]));
    print_rows(&rows);
    for task in &detail.tasks {
        print_task(task);
    }
    let next = next_commands(detail, org);
    if !next.is_empty() {
        anstream::println!();
    }
    for command in next {
        anstream::println!("{QUIET}next{QUIET:#}  {command}");
    }
}

fn print_task(task: &TaskDetail) {
    let style = style(task.state);
    let mark = symbol(task.state);
    anstream::println!("\n{style}{mark}{style:#} {HEADER}{}{HEADER:#}  {}", task.task, task.state);
    for text in task.why.iter().chain(&task.result) {
        for line in text.lines() {
            anstream::println!("    {line}");
        }
    }
    for decision in task.record.iter().flat_map(|record| &record.decisions) {
        let said = match &decision.verdict {
            Verdict::Allow(_) => "ran",
            Verdict::Ask(_) => "asked",
            Verdict::Deny(_) => "refused",
        };
        let (tool, verdict) = (&decision.tool, &decision.verdict);
        anstream::println!("    {QUIET}{tool}  {said}: {verdict}{QUIET:#}");
    }
    for question in &task.questions {
        anstream::println!("    {WAITS}{}{WAITS:#}", asks(&question.asked));
    }
}

/// What is asked, in words.
pub(super) fn asks(asked: &Asked) -> String {
    match asked {
        Asked::Approval { tool, arguments, why, .. } => {
            format!("wants to call {}: {why}", in_words(tool, &arguments.to_string()))
        }
        Asked::Question { question, options } if options.is_empty() => format!("asks: {question}"),
        Asked::Question { question, options } => {
            format!("asks: {question} ({})", options.join(", "))
        }
        Asked::Plan { title, plan } => {
            format!(
                "shows a plan: {}{plan}",
                title.as_ref().map_or_else(String::new, |title| format!("{title}. "))
            )
        }
        Asked::Unknown { tool, arguments } => {
            let call = in_words(tool, &arguments.to_string());
            format!("had begun {call} when its process died; say what became of it")
        }
    }
}

/// What somebody can type so that it goes on.
pub(super) fn next_commands(detail: &WorkflowDetail, org: &Org) -> Vec<String> {
    let (id, slug) = (detail.summary.id, &org.slug);
    let mut all = Vec::new();
    for task in &detail.tasks {
        let name = &task.task;
        for question in &task.questions {
            all.push(match &question.asked {
                Asked::Approval { .. } | Asked::Plan { .. } => {
                    format!("ostler workflow approve {id} {name} --org {slug}")
                }
                Asked::Question { .. } | Asked::Unknown { .. } => {
                    format!("ostler workflow answer {id} {name} \"…\" --org {slug}")
                }
            });
        }
    }
    all
}
