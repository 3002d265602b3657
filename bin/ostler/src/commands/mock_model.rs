//! `ostler mock-model`: imitates a model provider from a script.

use std::net::IpAddr;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use ostler_scripted::Script;
use ostler_scripted::mock::{MockLimits, MockServer};

use crate::stop_signals::StopSignals;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler mock-model --port 8080 --script examples/scripts/support.yaml
  ostler mock-model --port 0 --script examples/scripts/faults.yaml

It answers POST /v1/chat/completions (OpenAI), POST /v1/messages (Anthropic) and
GET /v1/models until Ctrl-C. docs/SCRIPTED_MODEL.md describes scripts.")]
pub(crate) struct MockModelArgs {
    /// Port to listen on; 0 takes any free port and prints it
    #[arg(long, value_name = "N")]
    port: u16,
    /// YAML file with rules, such as examples/scripts/support.yaml
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Address to listen on; other machines can connect unless it is a loopback address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
}

pub(crate) async fn run(args: &MockModelArgs) -> anyhow::Result<()> {
    let script = Script::load(&args.script)?;
    let address = SocketAddr::new(args.host, args.port);
    // Nobody reads the recorded requests here.
    let limits = MockLimits { recorded: 0, ..MockLimits::default() };
    let server = MockServer::start_with(address, script, limits)
        .await
        .with_context(|| format!("cannot listen on {address}; --port 0 takes any free port"))?;
    // Before it is said that it answers, so that no signal ends the process at once.
    let mut signals = StopSignals::listen().context("cannot wait for Ctrl-C")?;
    let file = args.script.display();
    anstream::println!("{} answers from {file}; press Ctrl-C to stop", server.url());
    signals.next().await;
    server.stop().await;
    Ok(())
}
