//! `ostler team broadcast`.

use ostler_bus::Envelope;
use ostler_domain::dispatch::life::Team;
use serde_json::json;

use crate::cli::queue::TeamBroadcast;
use crate::desk::{Asleep, Desk};
use crate::screen::{HEADER, QUIET};

pub(crate) async fn run(command: &TeamBroadcast) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let team = desk.team(&command.name).await?;
    let message = desk.message(&command.saying).await?;
    let (id, code) = (message.message.id, message.reference);
    let told = tell(&desk, &team, message).await;
    desk.close().await?;
    let asleep = told?;
    let count = team.members().len() - asleep.len();
    if command.reach.output.json {
        let missed: Vec<_> = asleep.iter().map(|one| &one.name).collect();
        let told = json!({ "message": id, "reference": code, "told": count, "missed": missed });
        return crate::commands::print_json(&told);
    }
    anstream::println!("{HEADER}{code}{HEADER:#}  sent to {count} of {}", command.name);
    for Asleep { name, why } in &asleep {
        anstream::println!("  {name}  {QUIET}{why}{QUIET:#}");
    }
    Ok(())
}

async fn tell(desk: &Desk, team: &Team, message: Envelope) -> anyhow::Result<Vec<Asleep>> {
    let asleep = desk.wake(team.members()).await?;
    desk.runtime.broadcast(&team.name, message).await?;
    desk.settle(team.members()).await?;
    Ok(asleep)
}
