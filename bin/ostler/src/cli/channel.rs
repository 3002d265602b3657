//! What can be typed about channels.

use clap::{Args, Subcommand};
use ostler_domain::secret::SecretRef;

use super::operate::In;

#[derive(Debug, Subcommand)]
pub(crate) enum Channel {
    /// Connect a channel, so that an org is reached through it
    #[command(after_help = "\
Examples:
  ostler channel add webchat --org bella
  ostler channel add webchat --org bella --settings '{\"origins\": [\"https://bella.example\"]}'
  ostler channel add telegram --org bella \\
      --secret env:OSTLER_SECRET_ORG_01JD0V4K9PF2HT6Z3M8W5X7YBC_TELEGRAM
  ostler channel add sms --org bella --settings '{\"url\": \"https://gateway.example/out\"}'
  ostler channel add email --org bella --settings \\
      '{\"from\": \"Bella <ciao@bella.example>\", \"smtp\": {\"host\": \"mail.bella.example\"}}'

docs/CHANNELS.md describes the settings and the secret of each channel. A secret
is named, never written down: env:NAME or file:PATH. An org may name its own
variables, which begin with OSTLER_SECRET_ and its id, and files in its folder
below secrets/. Web chats and webhooks get one there if none is named.")]
    Add(ChannelAdd),
    /// List the channels of an org, and what is wrong with them
    #[command(after_help = "\
Examples:
  ostler channel ls --org bella
  ostler channel ls --org bella --json")]
    Ls(In),
    /// Change how a channel is connected; what is not said stays
    #[command(after_help = "\
Examples:
  ostler channel change bnd_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --agent enzo
  ostler channel change …7ybc --org bella --off")]
    Change(ChannelChange),
}

#[derive(Debug, Args)]
pub(crate) struct ChannelAdd {
    /// The channel: telegram, webchat, email, webhook, or a webhook under another
    /// name such as sms or whatsapp
    #[arg(value_name = "CHANNEL")]
    pub(crate) channel: String,
    /// Which of several is used first: the one with the lowest number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) priority: u32,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct ChannelChange {
    /// The binding, or the end of its id
    #[arg(value_name = "BINDING")]
    pub(crate) binding: String,
    /// Which of several is used first: the one with the lowest number
    #[arg(long, value_name = "N")]
    pub(crate) priority: Option<u32>,
    /// Use it again
    #[arg(long, conflicts_with = "off")]
    pub(crate) on: bool,
    /// Neither take nor send anything through it
    #[arg(long)]
    pub(crate) off: bool,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) place: In,
}

/// How a channel is connected.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Who answers there, by slug; otherwise whoever customers reach
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// What the channel needs to know, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) settings: Option<String>,
    /// Where its secret is kept: env:NAME or file:PATH
    #[arg(long, value_name = "PLACE")]
    pub(crate) secret: Option<SecretRef>,
}
