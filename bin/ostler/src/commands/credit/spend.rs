//! `ostler credit spend`.

use clap::Args;
use ostler_api::credit::SpendReport;
use ostler_domain::id::AgentId;
use ostler_domain::money::Credits;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::{Cell, HEADER, count, print_rows, thousands};

#[derive(Debug, Args)]
pub(crate) struct SpendArgs {
    /// Number of days, with today; days are in UTC
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
    days: u32,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &SpendArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let days = args.days.to_string();
    let report: SpendReport = org.query(&["credits", "spend"], &[("days", &days)]).await?;
    if args.target.output.json {
        return crate::commands::print_json(&report);
    }
    let names = org.agent_names().await?;
    anstream::println!(
        "{HEADER}{}{HEADER:#}  {} since {}",
        org.org.name,
        count(report.total.get(), "credit"),
        report.since
    );
    for (amount, what) in [
        (report.tests, "of it in tests"),
        (report.paid_by_others, "of it paid by the organization above or the platform"),
        (report.for_clients, "more paid for clients"),
    ] {
        if !amount.is_zero() {
            anstream::println!("  {}, {what}", count(amount.get(), "credit"));
        }
    }
    // Threads of the interactive harness belong to no agent of the org.
    let unlisted = |id: AgentId| match id.as_u128() {
        0 => "interactive threads".to_owned(),
        _ => id.to_string(),
    };
    let agent = |id| names.find(id).map_or_else(|| unlisted(id), str::to_owned);
    let unnamed = || "(not recorded)".to_owned();
    print_part("by agent", report.agents.iter().map(|one| (agent(one.agent), one.credits)));
    print_part(
        "by model",
        report.models.iter().map(|one| (one.name.clone().unwrap_or_else(unnamed), one.credits)),
    );
    print_part(
        "by tool",
        report.tools.iter().map(|one| (one.name.clone().unwrap_or_default(), one.credits)),
    );
    print_part("by client", report.clients.iter().map(|one| (one.name.clone(), one.credits)));
    print_part("by day", report.days.iter().map(|one| (one.day.clone(), one.credits)));
    Ok(())
}

fn print_part(title: &str, lines: impl Iterator<Item = (String, Credits)>) {
    let rows: Vec<[Cell; 2]> = lines
        .map(|(name, credits)| [Cell::from(format!("  {name}")), thousands(credits.get()).into()])
        .collect();
    if !rows.is_empty() {
        anstream::println!("\n{HEADER}{title}{HEADER:#}");
        print_rows(&rows);
    }
}
