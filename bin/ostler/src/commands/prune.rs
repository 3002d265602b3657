//! `ostler prune`: deletes what is over and older than its org wants.

use ostler_domain::id::OrgId;
use ostler_store::{OrgPruned, Progress, PruneLimits, PruneMode, Store};
use serde::Serialize;

use crate::cli::Prune;
use crate::home::Home;
use crate::screen::{Cell, HEADER, QUIET, print_rows, thousands};

/// Rows that one transaction looks at: few enough that nobody waits for it.
const BATCH: u32 = 1000;

/// What was deleted of an org, as JSON.
#[derive(Serialize)]
struct Line {
    org: OrgId,
    slug: String,
    retention_days: u32,
    inbox: u64,
    outbox: u64,
    calls: u64,
    sessions: u64,
    messages: u64,
    runs: u64,
    events: u64,
    workflows: u64,
    signals: u64,
}

pub(crate) async fn run(command: &Prune) -> anyhow::Result<()> {
    let store = Store::open(&Home::find(&command.at)?.database()).await?;
    let mode = if command.dry_run { PruneMode::Count } else { PruneMode::Delete };
    let mut rows = 0;
    let progress = |progress: Progress| {
        rows += progress.rows;
        if mode == PruneMode::Delete {
            anstream::eprint!("\r{QUIET}{} rows …{QUIET:#}", thousands(rows));
        }
    };
    let pruned = store.prune(PruneLimits { batch: BATCH, mode }, progress).await?;
    if rows > 0 && mode == PruneMode::Delete {
        anstream::eprintln!();
    }
    let mut lines = Vec::new();
    for org in pruned {
        let slug = store.org(org.org).org().await?.slug;
        lines.push(line(slug, org));
    }
    if command.output.json {
        return super::print_json(&lines);
    }
    print(&lines, mode);
    Ok(())
}

fn line(slug: String, pruned: OrgPruned) -> Line {
    let OrgPruned { org, days, inbox, outbox, calls, sessions, messages, runs, .. } = pruned;
    let OrgPruned { events, workflows, signals, .. } = pruned;
    Line {
        org,
        slug,
        retention_days: days,
        inbox,
        outbox,
        calls,
        sessions,
        messages,
        runs,
        events,
        workflows,
        signals,
    }
}

fn print(lines: &[Line], mode: PruneMode) {
    if lines.is_empty() {
        return anstream::println!("no org has retention days, so everything is kept");
    }
    let header = [
        "org",
        "days",
        "inbox",
        "outbox",
        "calls",
        "sessions",
        "messages",
        "runs",
        "events",
        "workflows",
        "signals",
    ];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(lines.iter().map(|line| {
        let counts = [
            line.inbox,
            line.outbox,
            line.calls,
            line.sessions,
            line.messages,
            line.runs,
            line.events,
            line.workflows,
            line.signals,
        ];
        let mut cells = vec![line.slug.clone().into(), line.retention_days.to_string().into()];
        cells.extend(counts.map(|count| Cell::from(thousands(count))));
        std::array::from_fn(|at| cells.get(at).cloned().unwrap_or_default())
    }));
    print_rows(&rows);
    if mode == PruneMode::Count {
        anstream::println!("\nnothing was deleted; without --dry-run it is");
    }
}
