//! Following a workflow: prints its progress until it ends or waits. On a local installation
//! this process runs workflows meanwhile, beside others; a server runs them itself.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use ostler_api::workflow::{WorkflowDetail, WorkflowTask};
use ostler_domain::id::WorkflowId;
use ostler_domain::time::Timestamp;
use ostler_runtime::workflow::WorkflowRunner;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use unicode_width::UnicodeWidthStr as _;

use super::show::{describe_question, next_commands, print_json, style, symbol};
use crate::api_client::{ApiClient, OrgApi};
use crate::app::App;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{DIM, print_next, print_paragraph, shorten, terminal_width};

/// How often a workflow of this machine is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a workflow of a server is polled.
const SERVER_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How many workflows run at the same time; others may be due as well.
const CONCURRENCY: usize = 4;
/// The exit code of a program that was ended by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// How much of a result is shown in a line of a file or pipe.
const LINE_COLUMNS: usize = 100;
/// The columns of a symbol and of the spaces around a state.
const STATE_COLUMNS: usize = 6;

/// An org whose workflows are followed.
pub(super) struct FollowedOrg {
    pub(super) org: OrgApi,
    /// What runs workflows in this process; `None` on a server.
    app: Option<App>,
}

impl FollowedOrg {
    /// Opens the installation or server and finds the org that the arguments name.
    pub(super) async fn open(target: &OrgArgs) -> anyhow::Result<Self> {
        let (api, app) = ApiClient::open_with_app(&target.installation).await?;
        Ok(Self { org: api.find_org(&target.org).await?, app })
    }

    /// Follows a workflow until it ends or waits, and prints its progress. Other processes may
    /// run its steps as well; each step runs once.
    pub(super) async fn follow(&self, id: WorkflowId, json: bool) -> anyhow::Result<ExitCode> {
        let mut interrupts = signal(SignalKind::interrupt())?;
        if let (Some(until), Some(_), false) =
            (self.detail(id).await?.workflow.leased_until, &self.app, json)
        {
            print_lease(until);
        }
        let (stop, stopped) = watch::channel(false);
        let task = match &self.app {
            Some(app) => {
                let runner = WorkflowRunner::new(app.worker.services())?;
                Some(tokio::spawn(async move { runner.run(CONCURRENCY, stopped).await }))
            }
            None => None,
        };
        let followed = tokio::select! {
            detail = self.wait_for_end(id, json) => Some(detail?),
            _ = interrupts.recv() => None,
        };
        if followed.is_none() && task.is_some() {
            anstream::eprintln!(
                "stopping after the steps in progress; Ctrl-C again stops at once. The workflow \
                 stays stored, and no finished step is repeated."
            );
        }
        stop.send_replace(true);
        if let Some(task) = task {
            tokio::select! {
                ended = task => ended?,
                _ = interrupts.recv() => {}
            }
        }
        match followed {
            Some(detail) => self.end(&detail, json),
            None => Ok(self.interrupted(id)),
        }
    }

    async fn detail(&self, id: WorkflowId) -> anyhow::Result<WorkflowDetail> {
        self.org.get(&["workflows", &id.to_string()]).await
    }

    /// Prints the progress of a workflow until it ends or waits.
    async fn wait_for_end(&self, id: WorkflowId, json: bool) -> anyhow::Result<WorkflowDetail> {
        let interval = if self.app.is_some() { POLL_INTERVAL } else { SERVER_POLL_INTERVAL };
        let mut printed = BTreeMap::new();
        loop {
            let detail = self.detail(id).await?;
            if !json {
                print_changes(&detail, &mut printed)?;
            }
            let workflow = &detail.workflow;
            if !workflow.due && workflow.status != "running" && !has_busy_child(&detail) {
                return Ok(detail);
            }
            tokio::time::sleep(interval).await;
        }
    }

    /// Prints how a workflow ended, or what it waits for.
    fn end(&self, detail: &WorkflowDetail, json: bool) -> anyhow::Result<ExitCode> {
        let workflow = &detail.workflow;
        if json {
            print_json(detail)?;
        } else {
            let style = style(&workflow.status);
            let why = workflow.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            anstream::println!("{style}{}{style:#}{why}", workflow.status);
            print_next(next_commands(detail, &self.org.org.slug)?);
        }
        let failed = matches!(workflow.status.as_str(), "failed" | "cancelled");
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Says what happens to a workflow that is not followed any more.
    fn interrupted(&self, id: WorkflowId) -> ExitCode {
        let slug = &self.org.org.slug;
        let who = match &self.app {
            Some(_) => "stopped; a running `ostler serve` or `ostler worker` continues",
            None => "not followed any more; the server continues",
        };
        anstream::eprintln!("{who} the workflow, or\n  ostler workflow resume {id} --org {slug}");
        ExitCode::from(INTERRUPTED)
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
fn print_changes(
    detail: &WorkflowDetail,
    printed: &mut BTreeMap<String, String>,
) -> anyhow::Result<()> {
    for task in &detail.tasks {
        let skipped = matches!(task.state.as_str(), "waits for others" | "queued");
        if skipped
            || printed.insert(task.task.clone(), task.state.clone()).as_ref() == Some(&task.state)
        {
            continue;
        }
        let style = style(&task.state);
        let (symbol, state) = (symbol(&task.state), &task.state);
        anstream::println!(
            "{style}{symbol}{style:#} {}  {state}  {DIM}{}{DIM:#}",
            task.task,
            summary_line(task)?
        );
    }
    Ok(())
}

/// Returns the question, reason or result of a task in a line.
fn summary_line(task: &WorkflowTask) -> anyhow::Result<String> {
    let asked = task.questions.first().map(describe_question).transpose()?;
    let text = asked.as_deref().or(task.reason.as_deref()).or(task.result.as_deref());
    let text: String = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let before = task.task.width() + task.state.width() + STATE_COLUMNS;
    let columns = terminal_width().map_or(LINE_COLUMNS, |width| width.saturating_sub(before));
    Ok(shorten(&text, columns))
}
