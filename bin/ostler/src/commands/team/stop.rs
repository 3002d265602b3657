//! `ostler team stop`.

use crate::cli::queue::TeamStop;
use crate::desk::Desk;
use crate::screen::HEADER;

pub(crate) async fn run(command: &TeamStop) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let stopped = stop(&desk, command).await;
    desk.close().await?;
    let team = stopped?;
    if command.reach.output.json {
        return crate::commands::print_json(&team);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  dissolved; its agents stop", team.name);
    Ok(())
}

async fn stop(
    desk: &Desk,
    command: &TeamStop,
) -> anyhow::Result<ostler_domain::dispatch::life::Team> {
    desk.team(&command.name).await?;
    desk.runtime.stop_team(&command.name).await?;
    desk.team(&command.name).await
}
