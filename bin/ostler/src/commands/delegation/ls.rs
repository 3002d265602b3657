//! `ostler delegation ls`.

use ostler_bus::now;
use ostler_domain::dispatch::delegation::{Delegation, DelegationStatus};
use ostler_runtime::queue::{LONGEST_PAGE, Page, Work};

use crate::cli::queue::DelegationLs;
use crate::desk::Desk;
use crate::screen::{BAD, Cell, GOOD, HEADER, QUIET, WAITS, print_rows};

pub(crate) async fn run(command: &DelegationLs) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let work = desk.runtime.delegations().list(which(command), Page::default()).await?;
    desk.close().await?;
    if command.reach.output.json {
        return crate::commands::print_json(&work);
    }
    if work.is_empty() {
        anstream::println!("no such work");
        return Ok(());
    }
    print_work(&work);
    if work.len() == LONGEST_PAGE {
        anstream::println!("{QUIET}the first {LONGEST_PAGE}; narrow it, see --help{QUIET:#}");
    }
    Ok(())
}

fn which(command: &DelegationLs) -> Work {
    if let Some(agent) = &command.agent {
        Work::Of(agent.clone())
    } else if command.overdue {
        Work::OverdueAt(now())
    } else if command.blocked {
        Work::Blocked
    } else if command.ready {
        Work::Ready
    } else {
        Work::All
    }
}

/// Prints pieces of work, one in a line.
pub(in crate::commands) fn print_work(work: &[Delegation]) {
    let header = ["code", "for", "from", "state", "due", "what"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(work.iter().map(|one| {
        [
            one.reference.to_string().into(),
            one.assignee.as_str().into(),
            one.delegated_by.as_str().into(),
            state(one),
            due(one).into(),
            one.description.as_str().into(),
        ]
    }));
    print_rows(&rows);
}

/// Where work stands.
pub(super) fn state(work: &Delegation) -> Cell {
    match work.status {
        _ if work.is_overdue(now()) => Cell::styled("late", BAD),
        DelegationStatus::Assigned => "given".into(),
        DelegationStatus::InProgress => Cell::styled("being done", WAITS),
        DelegationStatus::AwaitingReview => Cell::styled("in review", WAITS),
        DelegationStatus::Complete => Cell::styled("finished", GOOD),
        DelegationStatus::Overdue => Cell::styled("late", BAD),
    }
}

/// By when it is to be done.
pub(super) fn due(work: &Delegation) -> String {
    let at = work.due.and_then(|due| jiff::Timestamp::from_millisecond(due.as_millis()).ok());
    at.map_or_else(String::new, |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}
