//! `ostler team create`.

use clap::Args;
use ostler_api::queue_agent::NewQueueTeamRequest;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::Team;

use crate::commands::agent::start::AgentTypeArg;
use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
use crate::screen::HEADER;

#[derive(Debug, Args)]
pub(crate) struct TeamCreateArgs {
    /// Name of the team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    /// Members, separated by commas: registered agents, and agents of the org by their
    /// slugs; the first one leads
    #[arg(long, value_name = "AGENT,…", value_delimiter = ',', required = true)]
    members: Vec<AgentName>,
    /// Register unknown members as agents of this type
    #[arg(long, value_name = "TYPE")]
    register: Option<AgentTypeArg>,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamCreateArgs) -> anyhow::Result<()> {
    let request = NewQueueTeamRequest {
        name: args.name.clone(),
        members: args.members.clone(),
        register: args.register.map(Into::into),
    };
    let team: Team =
        with_queues(&args.bus, async |queues| queues.org.post(&["queue-teams"], &request).await)
            .await?;
    if args.bus.output.json {
        return crate::commands::print_json(&team);
    }
    print_team(&team);
    Ok(())
}

/// Prints a team and its members.
pub(super) fn print_team(team: &Team) {
    let members: Vec<&str> = team.members().iter().map(AgentName::as_str).collect();
    anstream::println!(
        "{HEADER}{}{HEADER:#}  {}, led by {}",
        team.name,
        members.join(", "),
        team.leader()
    );
}
