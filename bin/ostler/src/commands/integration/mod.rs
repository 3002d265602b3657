//! `ostler integration`: the services that the tools of an org can use.

mod connect;
mod disconnect;
mod ls;

use clap::Subcommand;
use ostler_api::integration::ServiceConnection;
use serde_json::json;

use super::args::{OrgArgs, OutputArgs};
use super::operator::print_result;
use crate::screen::DIM;

#[derive(Debug, Subcommand)]
pub(crate) enum IntegrationCommand {
    /// List the services that tools can use, and which of them are connected
    #[command(after_help = "\
Examples:
  ostler integration ls --org bella")]
    Ls(OrgArgs),
    /// Connect a service, so that agents get the tools that need it
    #[command(after_help = "\
Examples:
  ostler integration connect payments --org bella
  UNSPLASH_ACCESS_KEY=… ostler integration connect unsplash --org bella
  ostler integration connect unsplash --org bella \\
      --secret env:OSTLER_SECRET_ORG_01JD0V4K9PF2HT6Z3M8W5X7YBC_UNSPLASH

The database stores where a key is, never the key itself: env:NAME or file:PATH.
The process that runs the agents reads it there, also if you work on a server.
An org may use variables that begin with OSTLER_SECRET_ and its id, and files in
its own folder below secrets/.")]
    Connect(connect::ConnectArgs),
    /// Disconnect a service; agents lose the tools that need it
    #[command(after_help = "\
Examples:
  ostler integration disconnect unsplash --org bella")]
    Disconnect(disconnect::DisconnectArgs),
}

pub(crate) async fn run(command: &IntegrationCommand) -> anyhow::Result<()> {
    match command {
        IntegrationCommand::Ls(args) => ls::run(args).await,
        IntegrationCommand::Connect(args) => connect::run(args).await,
        IntegrationCommand::Disconnect(args) => disconnect::run(args).await,
    }
}

/// Prints a service after it was connected or disconnected.
fn print_connection(
    service: &ServiceConnection,
    output: &OutputArgs,
    text: &str,
) -> anyhow::Result<()> {
    let ServiceConnection { service, connected, secret, .. } = service;
    let json = json!({"service": service, "connected": connected, "secret": secret});
    let key = secret.as_ref().map_or_else(String::new, |at| format!("  key: {at}"));
    print_result(output, &json, &format!("{service} {text}{DIM}{key}{DIM:#}"))
}
