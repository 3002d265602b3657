//! `ostler team stop`.

use clap::Args;
use ostler_api::queue_agent::{DissolvedTeam, QueueBacklog};
use ostler_domain::queue_agent::name::TeamName;

use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
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
    let path = ["queue-teams", args.name.as_str(), "stop"];
    let dissolved: DissolvedTeam =
        with_queues(&args.bus, async |queues| queues.org.post(&path, &()).await).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&dissolved);
    }
    anstream::println!(
        "{HEADER}{}{HEADER:#}  dissolved; its agents stop, except those of the org and of other teams",
        dissolved.team.name
    );
    for QueueBacklog { queue, waiting } in &dissolved.waiting {
        anstream::println!(
            "  {WARNING}{waiting} messages wait in {queue}{WARNING:#}; those to stopped agents \
             become dead letters once a process takes them"
        );
    }
    Ok(())
}
