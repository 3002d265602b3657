//! `ostler channel`: the channels through which customers reach an org.

mod add;
mod change;
mod ls;
mod test;

use clap::{Args, Subcommand};
use ostler_api::channel::ChannelBinding;
use ostler_channels::error::OpenError;
use ostler_domain::channel::Channel;
use ostler_domain::secret::SecretRef;
use serde_json::{Map, Value, json};

use super::args::OrgArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelCommand {
    /// Connect a channel to an org
    #[command(after_help = "\
Examples:
  ostler channel add webchat --org bella
  ostler channel add webchat --org bella \\
      --settings '{\"origins\": [\"https://bella.example\"]}'
  ostler channel add telegram --org bella \\
      --secret env:OSTLER_SECRET_ORG_01JD0V4K9PF2HT6Z3M8W5X7YBC_TELEGRAM
  ostler channel add sms --org bella \\
      --settings '{\"url\": \"https://gateway.example/out\"}'
  ostler channel add email --org bella --settings \\
      '{\"from\": \"ciao@bella.example\", \"smtp\": {\"host\": \"mail.bella.example\"}}'

docs/CHANNELS.md describes the settings and the secret of each channel. The
database stores where a secret is, never the secret itself: env:NAME or file:PATH.
An org may use variables that begin with OSTLER_SECRET_ and its id, and files in
its own folder below secrets/. Web chats and webhooks get a new secret there
unless --secret names one. With a server, these are places on its machine.")]
    Add(add::ChannelAddArgs),
    /// List the channels of an org and what is wrong with them
    #[command(after_help = "\
Examples:
  ostler channel ls --org bella
  ostler channel ls --org bella --json")]
    Ls(OrgArgs),
    /// Change the settings of a channel; options that are left out stay the same
    #[command(after_help = "\
Examples:
  ostler channel change bnd_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --agent enzo
  ostler channel change …7ybc --org bella --off")]
    Change(change::ChannelChangeArgs),
    /// Test a channel: whether its provider accepts it, and whether a message arrives
    #[command(after_help = "\
Examples:
  ostler channel test telegram --org bella
  ostler channel test email --org bella --to you@example.com")]
    Test(test::ChannelTestArgs),
}

/// The settings of a binding.
#[derive(Debug, Args)]
pub(crate) struct BindingArgs {
    /// Agent that answers customers on this channel, by slug; while it takes no messages,
    /// customer service does, else the PM [default: customer service, else the PM]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Settings of the channel, as JSON
    #[arg(long, value_name = "JSON")]
    settings: Option<String>,
    /// Place of the channel's secret: env:NAME or file:PATH
    #[arg(long, value_name = "PLACE")]
    secret: Option<SecretRef>,
}

pub(crate) async fn run(command: &ChannelCommand) -> anyhow::Result<()> {
    match command {
        ChannelCommand::Add(args) => add::run(args).await,
        ChannelCommand::Ls(args) => ls::run(args).await,
        ChannelCommand::Change(args) => change::run(args).await,
        ChannelCommand::Test(args) => test::run(args).await,
    }
}

/// Reads the settings that somebody wrote for a channel.
fn parse_settings(text: &str, channel: &Channel) -> anyhow::Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| {
        let (channel, reason) = (channel.to_string(), error.to_string());
        OpenError::InvalidSettings { channel, reason }.into()
    })
}

/// Returns a channel as JSON.
fn binding_json(bound: &ChannelBinding) -> Value {
    json!({"binding": bound.binding, "org": bound.org, "name": bound.name,
        "channel": bound.channel, "agent": bound.agent, "enabled": bound.enabled,
        "priority": bound.priority, "settings": bound.settings, "secret": bound.secret,
        "address": bound.address, "error": bound.error})
}
