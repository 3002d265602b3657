//! `ostler workflow show`.

use anstyle::Style;
use ostler_domain::gate::GateDecision;
use ostler_domain::org::Org;
use ostler_runtime::workflow::QuestionBody;
use ostler_runtime::workflow::view::{TaskDetail, WorkflowDetail};

use super::{WorkflowArgs, open_workflow};
use crate::commands::session::view::format_time;
use crate::screen::{
    BAD, Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_fields, print_next, terminal_width,
    wrap,
};
use ostler_runtime::delivery::notices::text::format_call;

pub(super) async fn run(args: &WorkflowArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_workflow(&args.target, &args.workflow).await?;
    let detail = operator.org(&org).workflow(id).await?;
    if args.target.output.json {
        return crate::commands::print_json(&detail);
    }
    print(&detail, &org);
    Ok(())
}

/// Returns the style of a state.
pub(super) fn style(state: &str) -> Style {
    match state {
        "done" => GOOD,
        "waits" | "waiting" | "paused" | "running" | "undoing" => WARNING,
        "failed" | "not undone" => BAD,
        _ => DIM,
    }
}

/// Returns the symbol of a state.
pub(super) fn symbol(state: &str) -> &'static str {
    match state {
        "done" => "✓",
        "waits" | "paused" => "⏸",
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
        ["started".into(), format_time(summary.created_at).into()],
        ["updated".into(), format_time(summary.updated_at).into()],
    ];
    rows.extend(
        summary
            .parent
            .iter()
            .map(|(parent, task)| ["started by".into(), format!("{task} of {parent}").into()]),
    );
    rows.extend(summary.leased_until.map(|until| {
        let text = format!("a process works on it; its lease ends at {}", format_time(until));
        ["runs".into(), Cell::from(text)]
    }));
    rows.extend(summary.why.iter().map(|why| ["why".into(), why.as_str().into()]));
    print_fields(&rows);
    for task in &detail.tasks {
        print_task(task);
    }
    print_next(next_commands(detail, org));
}

fn print_task(task: &TaskDetail) {
    let style = style(task.state);
    let symbol = symbol(task.state);
    anstream::println!(
        "\n{style}{symbol}{style:#} {HEADER}{}{HEADER:#}  {}",
        task.task,
        task.state
    );
    for text in task.why.iter().chain(&task.result) {
        let columns = terminal_width().map_or(usize::MAX, |width| width.saturating_sub(4));
        for line in wrap(text, columns) {
            anstream::println!("    {line}");
        }
    }
    for decision in task.record.iter().flat_map(|record| &record.decisions) {
        let decided = match &decision.verdict {
            GateDecision::Allow(_) => "ran",
            GateDecision::Ask(_) => "asked",
            GateDecision::Deny(_) => "refused",
        };
        let (tool, verdict) = (&decision.tool, &decision.verdict);
        anstream::println!("    {DIM}{tool}  {decided}: {verdict}{DIM:#}");
    }
    for child in &task.children {
        anstream::println!("    {DIM}{}{DIM:#}  {}  {}", child.id, child.name, child.status);
    }
    for question in &task.questions {
        anstream::println!("    {WARNING}{}{WARNING:#}", describe_question(&question.body));
    }
}

/// Describes the question of a step.
pub(super) fn describe_question(question: &QuestionBody) -> String {
    match question {
        QuestionBody::Approval { tool, arguments, why, .. } => {
            format!("wants to call {}: {why}", format_call(tool, &arguments.to_string()))
        }
        QuestionBody::Question { question, options } if options.is_empty() => {
            format!("asks: {question}")
        }
        QuestionBody::Question { question, options } => {
            format!("asks: {question} ({})", options.join(", "))
        }
        QuestionBody::Plan { title, plan } => {
            format!(
                "shows a plan: {}{plan}",
                title.as_ref().map_or_else(String::new, |title| format!("{title}. "))
            )
        }
        QuestionBody::Unknown { tool, arguments } => {
            let call = format_call(tool, &arguments.to_string());
            format!(
                "started {call} when its process died; find out what happened and answer with it"
            )
        }
    }
}

/// Returns the commands that let the workflow continue.
pub(super) fn next_commands(detail: &WorkflowDetail, org: &Org) -> Vec<NextCommand> {
    let (id, slug) = (detail.summary.id, &org.slug);
    let mut commands = Vec::new();
    for task in &detail.tasks {
        let name = &task.task;
        for question in &task.questions {
            let command = match &question.body {
                QuestionBody::Approval { .. } | QuestionBody::Plan { .. } => {
                    format!("ostler workflow approve {id} {name} --org {slug}")
                }
                QuestionBody::Question { .. } | QuestionBody::Unknown { .. } => {
                    format!("ostler workflow answer {id} {name} \"…\" --org {slug}")
                }
            };
            commands.push(NextCommand::new(command, ""));
        }
    }
    commands
}
