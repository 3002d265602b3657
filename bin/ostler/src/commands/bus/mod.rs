//! `ostler bus`: queues and dead letters.

mod dead_letters;
mod replay;
mod status;

use crate::cli::queue::Bus;

pub(crate) async fn run(command: &Bus) -> anyhow::Result<()> {
    match command {
        Bus::Status(status) => status::run(status).await,
        Bus::DeadLetters(letters) => dead_letters::run(letters).await,
        Bus::Replay(replay) => replay::run(replay).await,
    }
}
