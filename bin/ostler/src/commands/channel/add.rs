//! `ostler channel add`.

use anyhow::bail;
use clap::Args;
use ostler_channels::error::OpenError;
use ostler_channels::signature::SigningKeys;
use ostler_domain::channel::Channel;
use ostler_domain::org::Org;
use ostler_domain::secret::SecretRef;
use ostler_runtime::channel_binding::binding_config;
use ostler_runtime::operations::NewBinding;
use ostler_store::OrgBinding;
use ostler_world::unknown_name;

use super::{BindingArgs, binding_json, check_usable};
use crate::commands::args::OrgArgs;
use crate::commands::operator::{Operator, open_org};
use crate::installation::Installation;
use crate::screen::DIM;

use crate::{app, random, secrets};

/// The channels with a name of their own; others are webhooks.
#[derive(Debug, Args)]
pub(crate) struct ChannelAddArgs {
    /// Channel: telegram, webchat, email, webhook, or a webhook under another name
    /// such as sms or whatsapp
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// Priority among the channels of the org; the lowest number is used first
    #[arg(long, value_name = "N", default_value_t = 1)]
    priority: u32,
    #[command(flatten)]
    binding: BindingArgs,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ChannelAddArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let channel = Channel::from(args.channel.trim().to_lowercase());
    if let (Channel::Named(name), None) = (&channel, &args.binding.settings) {
        let unknown = unknown_name("channel", name, Channel::KNOWN);
        bail!("{unknown}\na webhook of that name needs --settings with its `url`");
    }
    let new = NewBinding {
        channel,
        settings: args.binding.settings.clone().unwrap_or_else(|| "{}".to_owned()),
        secret: args.binding.secret.clone(),
        agent: args.binding.agent.clone(),
        priority: args.priority,
    };
    let mut bound = operator.org(&org).draft_binding(new).await?;
    // A secret is created only after the settings are known to be valid.
    let lacks_secret = |opened| matches!(opened, Err(OpenError::MissingSecret { .. }));
    let given = bound.binding.channel == Channel::Email;
    if !given
        && lacks_secret(
            app::channels(&operator.installation)?.open(&binding_config(org.id, &bound)).map(drop),
        )
    {
        bound.secret = Some(default_secret(&operator, &org, &bound)?);
    }
    check_usable(&operator, &org, &bound)?;
    operator.org(&org).save_binding(bound.clone()).await?;
    if args.target.output.json {
        return crate::commands::print_json(&binding_json(&operator, &org, &bound, None));
    }
    let id = bound.binding.id;
    let text = format!("{} is connected to {}", org.name, bound.binding.channel);
    anstream::println!("{text}  {DIM}{id}{DIM:#}");
    print_next(&operator.installation, &bound);
    Ok(())
}

/// Returns the secret of a channel without --secret: for a bot the variable of the
/// org, otherwise a new file with a random secret.
fn default_secret(operator: &Operator, org: &Org, bound: &OrgBinding) -> anyhow::Result<SecretRef> {
    let binding = &bound.binding;
    let new = match binding.channel {
        Channel::Telegram => {
            let at = secrets::org_variable(org.id, "telegram");
            if secrets::org_secrets(&operator.installation).read_key(org.id, &at).is_ok() {
                return Ok(at);
            }
            let name = at.to_string().replacen("env:", "", 1);
            bail!(
                "a bot needs the token that @BotFather issued; set {name} to it, here and where \
                 `ostler serve` runs, or name its place with --secret"
            );
        }
        Channel::Webchat => random::hex()?,
        _ => SigningKeys::encode_key(&random::bytes()?),
    };
    // The name of a channel may not be a valid file name; its id is.
    secrets::create(&operator.installation, org.id, &binding.id.to_string(), &new)
}

fn print_next(installation: &Installation, bound: &OrgBinding) {
    let (id, url) = (bound.binding.id, installation.web_url());
    let line = |what: &str, text: &str| anstream::println!("{DIM}{what:8}{DIM:#}{text}");
    if let Some(at) = &bound.secret {
        line("secret", &at.to_string());
    }
    match &bound.binding.channel {
        Channel::Webchat => {
            line("page", &format!("{url}/chat/{id}"));
            let widget =
                format!("<script src=\"{url}/widget.js\" data-binding=\"{id}\" defer></script>");
            line("embed", &widget);
        }
        Channel::Telegram if installation.config.public_url.is_none() => {
            line("next", "ostler serve   polls Telegram for messages to the bot");
        }
        Channel::Telegram => {
            line("next", "ostler serve   asks Telegram to deliver messages to the bot");
        }
        Channel::Email if !bound.settings.contains("inbound_secret") => {
            line(
                "in",
                "no mail is received: the settings have no `inbound_secret`; see docs/CHANNELS.md",
            );
        }
        _ => line("in", &format!("POST {url}/v1/webhooks/{id}")),
    }
}
