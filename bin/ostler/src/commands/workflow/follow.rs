//! `ostler workflow follow`: brings workflows on in this process, and prints how
//! one comes on.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use ostler_domain::id::WorkflowId;
use ostler_domain::org::Org;
use ostler_domain::workflow::Task;
use ostler_runtime::workflow::Runner;
use ostler_runtime::workflow::view::{TaskDetail, WorkflowDetail};
use tokio::sync::watch;

use super::show::{asks, next_commands, style, symbol};
use super::{Desk, find, open};
use crate::cli::workflow::On;
use crate::kit::Kit;
use crate::screen::QUIET;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How many workflows are in work at once: others may be due, too.
const AT_ONCE: usize = 4;
/// The most letters of a result in one line.
const LETTERS: usize = 100;

pub(super) async fn run(on: &On) -> anyhow::Result<ExitCode> {
    let (desk, org) = open(&on.place).await?;
    let id = find(&desk, &org, &on.workflow).await?;
    until_it_rests(&desk, &org, id, on.place.output.json).await
}

/// Brings workflows on until one is over or waits. Whoever is faster does its
/// steps: this process, or one that is running.
pub(super) async fn until_it_rests(
    desk: &Desk,
    org: &Org,
    id: WorkflowId,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let kit = Kit::of(&desk.home, desk.store.clone())?;
    let runner = Runner::beside(&kit.worker)?;
    let (stop, stopped) = watch::channel(false);
    let working = tokio::spawn(async move { runner.run(AT_ONCE, stopped).await });
    let mut shown = BTreeMap::new();
    let detail = loop {
        let detail = desk.office(org).workflow(id).await?;
        if !json {
            print(&detail, &mut shown);
        }
        if !detail.summary.due && detail.summary.status != "running" {
            break detail;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    stop.send_replace(true);
    working.await?;
    if json {
        crate::commands::print_json(&detail)?;
    } else {
        end(&detail, org);
    }
    let failed = matches!(detail.summary.status.as_str(), "failed" | "cancelled");
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints what has changed.
fn print(detail: &WorkflowDetail, shown: &mut BTreeMap<Task, &'static str>) {
    for one in &detail.tasks {
        let quiet = matches!(one.state, "waits for others" | "queued");
        if quiet || shown.insert(one.task.clone(), one.state) == Some(one.state) {
            continue;
        }
        let style = style(one.state);
        let (mark, state) = (symbol(one.state), one.state);
        anstream::println!(
            "{style}{mark}{style:#} {}  {state}  {QUIET}{}{QUIET:#}",
            one.task,
            line(one)
        );
    }
}

/// What came of a task, in one line.
fn line(task: &TaskDetail) -> String {
    let asked = task.questions.first().map(|question| asks(&question.asked));
    let text = asked.as_deref().or(task.why.as_deref()).or(task.result.as_deref());
    let text: String = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LETTERS) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text,
    }
}

fn end(detail: &WorkflowDetail, org: &Org) {
    let summary = &detail.summary;
    let style = style(&summary.status);
    let why = summary.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    anstream::println!("{style}{}{style:#}{why}", summary.status);
    for next in next_commands(detail, org) {
        anstream::println!("{QUIET}next{QUIET:#}  {next}");
    }
}
