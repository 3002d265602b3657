//! `ostler workflow resume`: runs workflows in this process and follows one of them.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use ostler_domain::id::WorkflowId;
use ostler_domain::org::Org;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::Task;
use ostler_runtime::workflow::WorkflowRunner;
use ostler_runtime::workflow::view::{TaskDetail, WorkflowDetail};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use unicode_width::UnicodeWidthStr as _;

use super::show::{describe_question, next_commands, style, symbol};
use super::{WorkflowArgs, open_workflow};
use crate::app::App;
use crate::commands::operator::Operator;
use crate::commands::session::view::format_time;
use crate::screen::{DIM, print_next, print_paragraph, shorten, terminal_width};

/// How often the workflow is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How many workflows run at the same time; others may be due as well.
const CONCURRENCY: usize = 4;
/// The exit code of a program that was ended by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// How much of a result is shown in a line of a file or pipe.
const LINE_COLUMNS: usize = 100;
/// The columns of a symbol and of the spaces around a state.
const STATE_COLUMNS: usize = 6;

pub(super) async fn run(args: &WorkflowArgs) -> anyhow::Result<ExitCode> {
    let (operator, org, id) = open_workflow(&args.target, &args.workflow).await?;
    follow(&operator, &org, id, args.target.output.json).await
}

/// Runs workflows until the given one ends or waits, and prints its progress. Another
/// process may run its steps as well; each step runs once.
pub(super) async fn follow(
    operator: &Operator,
    org: &Org,
    id: WorkflowId,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let app = App::new(&operator.installation, operator.store.clone())?;
    let runner = WorkflowRunner::new(app.worker.services())?;
    let (stop, stopped) = watch::channel(false);
    let mut interrupts = signal(SignalKind::interrupt())?;
    if let (Some(until), false) = (operator.org(org).workflow(id).await?.summary.leased_until, json)
    {
        print_lease(until);
    }
    let task = tokio::spawn(async move { runner.run(CONCURRENCY, stopped).await });
    let followed = tokio::select! {
        detail = wait_for_end(operator, org, id, json) => Some(detail?),
        _ = interrupts.recv() => {
            anstream::eprintln!(
                "stopping after the steps in progress; Ctrl-C again stops at once. The workflow \
                 stays stored, and no finished step is repeated."
            );
            None
        }
    };
    stop.send_replace(true);
    tokio::select! {
        ended = task => ended?,
        _ = interrupts.recv() => {}
    }
    let Some(detail) = followed else {
        anstream::eprintln!(
            "stopped; a running `ostler serve` or `ostler worker` continues the workflow, or\n  \
             ostler workflow resume {id} --org {}",
            org.slug
        );
        return Ok(ExitCode::from(INTERRUPTED));
    };
    if json {
        crate::commands::print_json(&detail)?;
    } else {
        print_end(&detail, org);
    }
    let failed = matches!(detail.summary.status.as_str(), "failed" | "cancelled");
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints the progress of a workflow until it ends or waits.
async fn wait_for_end(
    operator: &Operator,
    org: &Org,
    id: WorkflowId,
    json: bool,
) -> anyhow::Result<WorkflowDetail> {
    let mut printed = BTreeMap::new();
    loop {
        let detail = operator.org(org).workflow(id).await?;
        if !json {
            print_changes(&detail, &mut printed);
        }
        if !detail.summary.due && detail.summary.status != "running" && !has_busy_child(&detail) {
            return Ok(detail);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns whether a workflow that a step has started still works on something.
fn has_busy_child(detail: &WorkflowDetail) -> bool {
    let mut children = detail.tasks.iter().flat_map(|task| &task.children);
    children.any(|child| matches!(child.status.as_str(), "running" | "undoing"))
}

/// Says that another process works on the workflow, and what happens if it was killed.
fn print_lease(until: Timestamp) {
    let note = format!(
        "another process works on this workflow; if it was killed, this one continues after \
         {}, when its lease ends",
        format_time(until)
    );
    print_paragraph(&note, DIM);
}

/// Prints the steps whose state has changed.
fn print_changes(detail: &WorkflowDetail, printed: &mut BTreeMap<Task, &'static str>) {
    for task in &detail.tasks {
        let skipped = matches!(task.state, "waits for others" | "queued");
        if skipped || printed.insert(task.task.clone(), task.state) == Some(task.state) {
            continue;
        }
        let style = style(task.state);
        let (symbol, state) = (symbol(task.state), task.state);
        anstream::println!(
            "{style}{symbol}{style:#} {}  {state}  {DIM}{}{DIM:#}",
            task.task,
            summary_line(task)
        );
    }
}

/// Returns the question, reason or result of a task in a line.
fn summary_line(task: &TaskDetail) -> String {
    let asked = task.questions.first().map(|question| describe_question(&question.body));
    let text = asked.as_deref().or(task.why.as_deref()).or(task.result.as_deref());
    let text: String = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let before = task.task.to_string().width() + task.state.width() + STATE_COLUMNS;
    let columns = terminal_width().map_or(LINE_COLUMNS, |width| width.saturating_sub(before));
    shorten(&text, columns)
}

fn print_end(detail: &WorkflowDetail, org: &Org) {
    let summary = &detail.summary;
    let style = style(&summary.status);
    let why = summary.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    anstream::println!("{style}{}{style:#}{why}", summary.status);
    print_next(next_commands(detail, org));
}
