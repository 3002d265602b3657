//! `ostler delegation ls`.

use clap::Args;
use ostler_api::page::Page;
use ostler_bus::now;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::MAX_PAGE_SIZE;

use crate::commands::args::BusArgs;
use crate::commands::session::view::format_time;
use crate::queue_api::with_queues;
use crate::screen::{BAD, Cell, DIM, GOOD, HEADER, WARNING, print_rows};

#[derive(Debug, Args)]
pub(crate) struct DelegationLsArgs {
    /// List only the work of this agent
    #[arg(long, value_name = "AGENT", group = "filter")]
    agent: Option<AgentName>,
    /// List only overdue work
    #[arg(long, group = "filter")]
    overdue: bool,
    /// List only work that waits for other unfinished work
    #[arg(long, group = "filter")]
    blocked: bool,
    /// List only unfinished work that waits for nothing
    #[arg(long, group = "filter")]
    ready: bool,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &DelegationLsArgs) -> anyhow::Result<()> {
    let query = query(args);
    let page: Page<Delegation> = with_queues(&args.bus, async |queues| {
        queues.org.query(&["delegations"], query.as_slice()).await
    })
    .await?;
    let delegations = page.items;
    if args.bus.output.json {
        return crate::commands::print_json(&delegations);
    }
    if delegations.is_empty() {
        anstream::println!("no delegations");
        return Ok(());
    }
    print_delegations(&delegations);
    if delegations.len() == MAX_PAGE_SIZE {
        anstream::println!(
            "{DIM}only the first {MAX_PAGE_SIZE} are listed; filter them, see --help{DIM:#}"
        );
    }
    Ok(())
}

/// Returns the query that selects what is listed.
fn query(args: &DelegationLsArgs) -> Option<(&'static str, &str)> {
    match &args.agent {
        Some(agent) => Some(("agent", agent.as_str())),
        None if args.overdue => Some(("state", "overdue")),
        None if args.blocked => Some(("state", "blocked")),
        None if args.ready => Some(("state", "ready")),
        None => None,
    }
}

/// Prints a table of delegations.
pub(in crate::commands) fn print_delegations(delegations: &[Delegation]) {
    let header = ["code", "assignee", "from", "status", "due", "description"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(delegations.iter().map(|delegation| {
        [
            delegation.reference.to_string().into(),
            delegation.assignee.as_str().into(),
            delegation.delegated_by.as_str().into(),
            status(delegation),
            Cell::whole(due(delegation)),
            delegation.description.as_str().into(),
        ]
    }));
    print_rows(&rows);
}

/// Describes the status of a delegation.
pub(super) fn status(delegation: &Delegation) -> Cell {
    match delegation.status {
        _ if delegation.is_overdue(now()) => Cell::styled("overdue", BAD),
        DelegationStatus::Assigned => "assigned".into(),
        DelegationStatus::InProgress => Cell::styled("in progress", WARNING),
        DelegationStatus::AwaitingReview => Cell::styled("awaiting review", WARNING),
        DelegationStatus::Complete => Cell::styled("complete", GOOD),
        DelegationStatus::Overdue => Cell::styled("overdue", BAD),
    }
}

/// Formats the due time of a delegation.
pub(super) fn due(delegation: &Delegation) -> String {
    delegation.due.map_or_else(String::new, format_time)
}
