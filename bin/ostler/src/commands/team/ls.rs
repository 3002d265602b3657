//! `ostler team ls`.

use clap::Args;
use ostler_api::page::Page;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamStatus};

use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
use crate::screen::{Cell, DIM, GOOD, HEADER, WARNING, print_rows};

#[derive(Debug, Args)]
pub(crate) struct TeamLsArgs {
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamLsArgs) -> anyhow::Result<()> {
    let page: Page<Team> =
        with_queues(&args.bus, async |queues| queues.org.get(&["queue-teams"]).await).await?;
    let teams = page.items;
    if args.bus.output.json {
        return crate::commands::print_json(&teams);
    }
    if teams.is_empty() {
        anstream::println!("no teams; create one with `ostler team create`");
        return Ok(());
    }
    let mut rows =
        vec![["team", "state", "leader", "members"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(teams.iter().map(row));
    print_rows(&rows);
    Ok(())
}

fn row(team: &Team) -> [Cell; 4] {
    let members: Vec<&str> = team.members().iter().map(AgentName::as_str).collect();
    [
        team.name.as_str().into(),
        state(team.status()),
        team.leader().as_str().into(),
        members.join(", ").into(),
    ]
}

fn state(status: TeamStatus) -> Cell {
    let style = match status {
        TeamStatus::Assembling | TeamStatus::Dissolving => WARNING,
        TeamStatus::Active => GOOD,
        TeamStatus::Complete => DIM,
    };
    Cell::styled(status.description(), style)
}
