//! `ostler prune`: deletes finished records that are older than their org keeps them.

use clap::Args;
use ostler_domain::id::OrgId;
use ostler_runtime::operations::Actor;
use ostler_store::{PruneMode, PruneOptions, PruneProgress, PruneReport};
use serde::Serialize;

use super::args::{InstallationArgs, OutputArgs};
use super::operator::Operator;
use crate::screen::{Cell, DIM, HEADER, print_rows, thousands};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler prune --dry-run
  ostler prune --database postgres://ostler@localhost/ostler --json")]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    installation: InstallationArgs,
    /// Count what would be deleted, but delete nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Rows per transaction, few enough to keep locks short.
const BATCH: u32 = 1000;

/// The deleted rows of an org.
#[derive(Serialize)]
struct OrgReport {
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
    threads: u64,
    files: u64,
    records: u64,
}

pub(crate) async fn run(args: &PruneArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let mode = if args.dry_run { PruneMode::Count } else { PruneMode::Delete };
    let mut rows = 0;
    let progress = |progress: PruneProgress| {
        rows += progress.rows;
        if mode == PruneMode::Delete {
            anstream::eprint!("\r{DIM}{} rows …{DIM:#}", thousands(rows));
        }
    };
    let options = PruneOptions { batch_size: BATCH, mode };
    let pruned = operator.operations.prune(Actor::Terminal, options, progress).await?;
    if rows > 0 && mode == PruneMode::Delete {
        anstream::eprintln!();
    }
    let mut reports = Vec::new();
    for org in pruned {
        let slug = operator.store.org(org.org).org().await?.slug;
        reports.push(report(slug, org));
    }
    if args.output.json {
        return super::print_json(&reports);
    }
    print(&reports, mode);
    Ok(())
}

fn report(slug: String, pruned: PruneReport) -> OrgReport {
    let PruneReport { org, days, inbox, outbox, calls, sessions, messages, runs, .. } = pruned;
    let PruneReport { events, workflows, signals, threads, files, records, .. } = pruned;
    OrgReport {
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
        threads,
        files,
        records,
    }
}

fn print(reports: &[OrgReport], mode: PruneMode) {
    if reports.is_empty() {
        return anstream::println!("no org has retention days; nothing is deleted");
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
        "threads",
        "files",
        "records",
    ];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(reports.iter().map(|report| {
        let counts = [
            report.inbox,
            report.outbox,
            report.calls,
            report.sessions,
            report.messages,
            report.runs,
            report.events,
            report.workflows,
            report.signals,
            report.threads,
            report.files,
            report.records,
        ];
        let mut cells = vec![report.slug.clone().into(), report.retention_days.to_string().into()];
        cells.extend(counts.map(|count| Cell::from(thousands(count))));
        std::array::from_fn(|at| cells.get(at).cloned().unwrap_or_default())
    }));
    print_rows(&rows);
    if mode == PruneMode::Count {
        anstream::println!("\nnothing was deleted; leave out --dry-run to delete it");
    }
}
