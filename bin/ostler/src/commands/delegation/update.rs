//! `ostler delegation update`.

use ostler_domain::dispatch::delegation::Delegation;
use ostler_domain::dispatch::name::AgentName;
use serde::Serialize;

use super::ls::print_work;
use crate::cli::queue::DelegationUpdate;
use crate::desk::Desk;

#[derive(Serialize)]
struct Updated {
    work: Delegation,
    /// What became ready by it.
    ready: Vec<Delegation>,
}

pub(crate) async fn run(command: &DelegationUpdate) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let updated = update(&desk, command).await;
    desk.close().await?;
    let updated = updated?;
    if command.reach.output.json {
        return crate::commands::print_json(&updated);
    }
    print_work(std::slice::from_ref(&updated.work));
    if !updated.ready.is_empty() {
        anstream::println!("\nready now");
        print_work(&updated.ready);
    }
    Ok(())
}

async fn update(desk: &Desk, command: &DelegationUpdate) -> anyhow::Result<Updated> {
    let work = super::find(desk, &command.work).await?;
    let next = next_in_line(desk, &work).await?;
    // Who cannot be started here hears of its work when it is.
    desk.wake(&next).await?;
    let ready = desk.runtime.progress(work.id, command.status.into()).await?;
    desk.settle(&next).await?;
    let work = super::find(desk, &work.id.to_string()).await?;
    Ok(Updated { work, ready })
}

/// Whose work waits for this.
async fn next_in_line(desk: &Desk, work: &Delegation) -> anyhow::Result<Vec<AgentName>> {
    let delegations = desk.runtime.delegations();
    let mut next = Vec::new();
    for id in delegations.blocks(work.id).await? {
        next.extend(delegations.get(id).await?.map(|waits| waits.assignee));
    }
    Ok(next)
}
