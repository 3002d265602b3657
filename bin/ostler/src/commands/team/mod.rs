//! `ostler team`: teams of agents.

pub(super) mod answer;
mod ask;
mod broadcast;
mod create;
mod ls;
mod stop;

use crate::cli::queue::Team;

pub(crate) async fn run(command: &Team) -> anyhow::Result<()> {
    match command {
        Team::Ls(ls) => ls::run(ls).await,
        Team::Create(create) => create::run(create).await,
        Team::Ask(ask) => ask::run(ask).await,
        Team::Broadcast(broadcast) => broadcast::run(broadcast).await,
        Team::Stop(stop) => stop::run(stop).await,
    }
}
