//! `ostler team ls`.

use ostler_domain::dispatch::life::{Team, TeamStatus};
use ostler_domain::dispatch::name::AgentName;
use ostler_runtime::queue::Page;

use crate::cli::queue::TeamLs;
use crate::desk::Desk;
use crate::screen::{Cell, GOOD, HEADER, QUIET, WAITS, print_rows};

pub(crate) async fn run(command: &TeamLs) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let teams = desk.runtime.teams().list(Page::default()).await?;
    desk.close().await?;
    if command.reach.output.json {
        return crate::commands::print_json(&teams);
    }
    if teams.is_empty() {
        anstream::println!("no teams; make one with `ostler team create`");
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
    match status {
        TeamStatus::Assembling => Cell::styled("assembling", WAITS),
        TeamStatus::Active => Cell::styled("active", GOOD),
        TeamStatus::Dissolving => Cell::styled("dissolving", WAITS),
        TeamStatus::Complete => Cell::styled("over", QUIET),
    }
}
