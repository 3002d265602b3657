//! `ostler channel add`.

use clap::Args;
use ostler_api::channel::{ChannelBinding, NewChannelRequest};
use ostler_domain::channel::Channel;

use super::{BindingArgs, binding_json, parse_settings};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::{DIM, print_notes};

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
    let org = open_org(&args.target).await?;
    let channel = Channel::from(args.channel.trim().to_lowercase());
    let settings = args.binding.settings.as_deref();
    let request = NewChannelRequest {
        settings: settings.map(|text| parse_settings(text, &channel)).transpose()?,
        channel,
        secret: args.binding.secret.clone(),
        agent: args.binding.agent.clone(),
        priority: args.priority,
    };
    let bound: ChannelBinding = org.post(&["bindings"], &request).await?;
    print_notes(&bound.notes);
    if args.target.output.json {
        return crate::commands::print_json(&binding_json(&bound));
    }
    let text = format!("{} is connected to {}", org.org.name, bound.channel);
    anstream::println!("{text}  {DIM}{}{DIM:#}", bound.binding);
    print_next(&bound);
    Ok(())
}

fn print_next(bound: &ChannelBinding) {
    let (id, address) = (bound.binding, &bound.address);
    let line = |what: &str, text: &str| anstream::println!("{DIM}{what:8}{DIM:#}{text}");
    if let Some(at) = &bound.secret {
        line("secret", &at.to_string());
    }
    match &bound.channel {
        Channel::Webchat => {
            let url = address.split("/chat/").next().unwrap_or_default();
            line("page", address);
            let widget =
                format!("<script src=\"{url}/widget.js\" data-binding=\"{id}\" defer></script>");
            line("embed", &widget);
        }
        Channel::Telegram if bound.polls => {
            line("next", "ostler serve   polls Telegram for messages to the bot");
        }
        Channel::Telegram => {
            line("next", "ostler serve   asks Telegram to deliver messages to the bot");
        }
        Channel::Email if bound.settings.get("inbound_secret").is_none() => {
            line(
                "in",
                "no mail is received: the settings have no `inbound_secret`; see docs/CHANNELS.md",
            );
        }
        _ => line("in", &format!("POST {address}")),
    }
}
