//! `ostler workflow show`.

use anstyle::Style;
use anyhow::Context as _;
use ostler_api::workflow::{WorkflowDetail, WorkflowTask};
use ostler_domain::gate::GateDecision;
use ostler_runtime::workflow::QuestionBody;
use ostler_runtime::workflow::view::TaskRecord;
use serde_json::{Value, json};

use super::{WorkflowArgs, find};
use crate::api_client::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{
    BAD, Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_fields, print_next, terminal_width,
    wrap,
};
use ostler_runtime::delivery::notices::text::format_call;

pub(super) async fn run(args: &WorkflowArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.workflow).await?;
    let detail: WorkflowDetail = org.get(&["workflows", &id.to_string()]).await?;
    if args.target.output.json {
        return print_json(&detail);
    }
    print(&detail, &org.org.slug)
}

/// Prints a workflow with its tasks as one object.
pub(super) fn print_json(detail: &WorkflowDetail) -> anyhow::Result<()> {
    let mut json = json!(detail.workflow);
    json["tasks"] = json!(detail.tasks);
    crate::commands::print_json(&json)
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

fn print(detail: &WorkflowDetail, slug: &str) -> anyhow::Result<()> {
    let summary = &detail.workflow;
    let state = Cell::styled(summary.status.as_str(), style(&summary.status));
    let mut rows = vec![
        [Cell::styled(summary.name.as_str(), HEADER), state],
        ["id".into(), summary.id.to_string().into()],
        ["credits".into(), summary.spent.to_string().into()],
        ["started".into(), format_time(summary.created_at).into()],
        ["updated".into(), format_time(summary.updated_at).into()],
    ];
    let starter = summary.parent.iter().zip(&summary.parent_task);
    rows.extend(
        starter.map(|(parent, task)| ["started by".into(), format!("{task} of {parent}").into()]),
    );
    rows.extend(summary.leased_until.map(|until| {
        let text = format!("a process works on it; its lease ends at {}", format_time(until));
        ["runs".into(), Cell::from(text)]
    }));
    rows.extend(summary.reason.iter().map(|why| ["why".into(), why.as_str().into()]));
    print_fields(&rows);
    for task in &detail.tasks {
        print_task(task)?;
    }
    print_next(next_commands(detail, slug)?);
    Ok(())
}

fn print_task(task: &WorkflowTask) -> anyhow::Result<()> {
    let (style, symbol) = (style(&task.state), symbol(&task.state));
    anstream::println!(
        "\n{style}{symbol}{style:#} {HEADER}{}{HEADER:#}  {}",
        task.task,
        task.state
    );
    for text in task.reason.iter().chain(&task.result) {
        let columns = terminal_width().map_or(usize::MAX, |width| width.saturating_sub(4));
        for line in wrap(text, columns) {
            anstream::println!("    {line}");
        }
    }
    let record = task.record.clone().map(serde_json::from_value::<TaskRecord>).transpose()?;
    for decision in record.iter().flat_map(|record| &record.decisions) {
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
        anstream::println!("    {WARNING}{}{WARNING:#}", describe_question(question)?);
    }
    Ok(())
}

/// Describes the question of a step.
pub(super) fn describe_question(question: &Value) -> anyhow::Result<String> {
    Ok(match &read_question(question)? {
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
    })
}

fn read_question(question: &Value) -> anyhow::Result<QuestionBody> {
    serde_json::from_value(question.clone())
        .context("this version cannot read the question of a step; use that of the server")
}

/// Returns the commands that let the workflow continue.
pub(super) fn next_commands(
    detail: &WorkflowDetail,
    slug: &str,
) -> anyhow::Result<Vec<NextCommand>> {
    let id = detail.workflow.id;
    let mut commands = Vec::new();
    for task in &detail.tasks {
        let name = &task.task;
        for question in &task.questions {
            let command = match read_question(question)? {
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
    Ok(commands)
}
