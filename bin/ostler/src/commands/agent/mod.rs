//! `ostler agent`: agents on queues.

mod ls;
mod send;
mod show;

use crate::cli::queue::Agent;

pub(crate) async fn run(command: &Agent) -> anyhow::Result<()> {
    match command {
        Agent::Ls(ls) => ls::run(ls).await,
        Agent::Show(show) => show::run(show).await,
        Agent::Send(send) => send::run(send).await,
    }
}
