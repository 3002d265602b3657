//! `ostler serve`: answers conversations, sends replies and serves the HTTP API.

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;

use super::worker::{WorkerArgs, run_app};
use crate::installation::Installation;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler serve --home target/demo
  ostler serve --listen 127.0.0.1:8080 --at-once 64")]
pub(crate) struct ServeArgs {
    /// Address to listen on; other machines can connect unless it is a loopback address
    /// [default: the one in ostler.toml or OSTLER_LISTEN, or 127.0.0.1:7470]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    #[command(flatten)]
    worker: WorkerArgs,
}

pub(crate) async fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let installation = Installation::find(&args.worker.installation)?;
    let configured = || {
        installation.config.listen.clone().unwrap_or_else(|| ostler_server::server::ADDRESS.into())
    };
    let listen = args.listen.clone().unwrap_or_else(configured);
    let listener = TcpListener::bind(&listen).await.with_context(|| {
        format!("cannot listen on {listen}; choose another address with --listen")
    })?;
    let address = listener.local_addr()?;
    run_app(&installation, args.worker.at_once.get(), Some((listener, address))).await
}
