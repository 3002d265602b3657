//! `ostler tools explain`: why an agent has a tool or does not have it.

mod live_session;
mod report;
mod world_file;

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::config::keys;
use crate::world::World;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Session: its id, the end of its id, or the contact's name on the channel
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Agent, by slug [default: the agent that answers in the session]; without --session,
    /// a fresh session is assumed
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Explain only this tool, stage by stage
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Org, if several have such a session or agent
    #[arg(long, value_name = "ORG", env = keys::ORG)]
    org: Option<String>,
    /// World file to read instead of an installation, such as examples/harbour.toml
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let session = args.session.as_deref();
    let explanation = match &args.world {
        Some(file) => {
            let agent = args.agent.as_deref();
            let agent = agent.context("name an agent of this world with --agent")?;
            world_file::explain(&World::read(file)?, agent, session)?
        }
        None => match (session, args.agent.as_deref()) {
            (Some(session), _) => live_session::explain(args, session).await?,
            (None, Some(agent)) => live_session::explain_fresh(args, agent).await?,
            (None, None) => bail!(
                "name a session with --session (`ostler session ls` lists them) or an agent with \
                 --agent (`ostler agent ls` lists them)"
            ),
        },
    };
    explanation.print(args.tool.as_deref(), args.output.json)
}
