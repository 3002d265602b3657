//! `ostler mock-model`: plays a model provider from a script.

use std::net::SocketAddr;

use anyhow::Context as _;
use ostler_models::mock::{Limits, MockServer};
use ostler_models::scripted::Script;

use crate::cli::MockModel;

pub(crate) async fn run(command: &MockModel) -> anyhow::Result<()> {
    let script = Script::load(&command.script)?;
    let address = SocketAddr::new(command.host, command.port);
    // Nobody asks what it was asked, so it remembers nothing.
    let limits = Limits { recorded: 0, ..Limits::default() };
    let server = MockServer::start_with(address, script, limits)
        .await
        .with_context(|| format!("cannot listen on {address}; --port 0 takes any free port"))?;
    let file = command.script.display();
    anstream::println!("{} answers from {file}; Ctrl-C ends it", server.url());
    tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    server.stop().await;
    Ok(())
}
