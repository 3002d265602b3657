//! `ostler channel`: the channels through which customers reach an org.

mod add;
mod change;
mod ls;
mod test;

use anyhow::bail;
use clap::{Args, Subcommand};
use ostler_channels::error::OpenError;
use ostler_domain::channel::Channel;
use ostler_domain::org::Org;
use ostler_domain::secret::SecretRef;
use ostler_runtime::channel_binding::binding_config;
use ostler_runtime::shared_bot::shared_bot;
use ostler_store::OrgBinding;
use serde_json::{Value, json};

use super::args::OrgArgs;
use super::operator::Operator;
use crate::{app, secrets};

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
unless --secret names one.")]
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

/// Checks that a binding can be opened. A secret that is not readable here is
/// accepted with a note, because the channel may be served elsewhere.
fn check_usable(operator: &Operator, org: &Org, binding: &OrgBinding) -> anyhow::Result<()> {
    match app::channels(&operator.installation)?.open(&binding_config(org.id, binding)) {
        Ok(_) => Ok(()),
        Err(OpenError::UnreadableSecret { location: at, .. }) => {
            let read = secrets::org_secrets(&operator.installation).read(org.id, &at);
            secrets::check_reference(&format!("channel {}", binding.binding.name()), read)
        }
        Err(refused) => bail!(refused),
    }
}

/// Returns a binding as JSON.
fn binding_json(
    operator: &Operator,
    org: &Org,
    binding: &OrgBinding,
    error: Option<&OpenError>,
) -> Value {
    let (id, url) = (binding.binding.id, operator.installation.web_url());
    let address = match binding.binding.channel {
        // The platform's web chat, if the org uses that.
        Channel::Webchat => format!("{url}/chat/{}", shared_bot(binding).unwrap_or(id)),
        _ => format!("{url}/v1/webhooks/{id}"),
    };
    let settings: Value = serde_json::from_str(&binding.settings).unwrap_or_default();
    json!({"binding": id, "org": org.id, "name": binding.binding.name(), "channel": binding.binding.channel, "agent": binding.agent,
        "enabled": binding.binding.enabled, "priority": binding.binding.priority, "settings": settings,
        "secret": binding.secret.as_ref().map(ToString::to_string), "address": address,
        "error": error.map(ToString::to_string)})
}
