//! `ostler tools`: which tools there are, and why an agent has one or has it not.

mod in_session;
mod in_world;
mod ls;
mod report;

use anyhow::Context as _;

use crate::cli::{Explain, Tools};
use crate::world::World;

pub(crate) async fn run(command: &Tools) -> anyhow::Result<()> {
    match command {
        Tools::Ls(ls) => ls::run(ls).await,
        Tools::Explain(explain) => self::explain(explain).await,
    }
}

async fn explain(command: &Explain) -> anyhow::Result<()> {
    let session = command.session.as_deref();
    let explanation = match &command.world {
        Some(file) => {
            let agent = command.agent.as_deref();
            let agent = agent.context("say whose tools in this world you mean, with --agent")?;
            in_world::explain(&World::read(file)?, agent, session)?
        }
        None => {
            let session = session.context(
                "say in which session, with --session (`ostler session ls` lists them), or name a \
                 world file with --world and an agent of it with --agent",
            )?;
            in_session::explain(command, session).await?
        }
    };
    explanation.show(command.tool.as_deref(), command.output.json)
}
