//! `ostler team stop`.

use clap::Args;
use ostler_domain::queue_agent::name::TeamName;
use ostler_runtime::operations::QueueBacklog;
use serde_json::json;

use crate::agent_client::with_client;
use crate::commands::args::BusArgs;
use crate::screen::{HEADER, WARNING};

#[derive(Debug, Args)]
pub(crate) struct TeamStopArgs {
    /// Team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamStopArgs) -> anyhow::Result<()> {
    let (team, waiting) = with_client(&args.bus, async |client| {
        Ok(client.operations().dissolve_team(&client.runtime, &args.name).await?)
    })
    .await?;
    if args.bus.output.json {
        return crate::commands::print_json(&json!({ "team": team, "waiting": waiting }));
    }
    anstream::println!(
        "{HEADER}{}{HEADER:#}  dissolved; its agents stop, except those of the org and of other teams",
        team.name
    );
    for QueueBacklog { queue, waiting } in &waiting {
        anstream::println!(
            "  {WARNING}{waiting} messages wait in {queue}{WARNING:#}; those to stopped agents \
             become dead letters once a process takes them"
        );
    }
    Ok(())
}
