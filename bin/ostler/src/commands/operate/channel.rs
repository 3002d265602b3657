//! `ostler channel`: through which channels an org is reached.

use anyhow::bail;
use ostler_channels::error::OpenError;
use ostler_channels::signature::Keys;
use ostler_domain::channel::Channel as Kind;
use ostler_domain::id::BindingId;
use ostler_domain::org::Org;
use ostler_domain::secret::SecretRef;
use ostler_runtime::delivery::config;
use ostler_runtime::operations::{BindingChange, NewBinding};
use ostler_store::OrgBinding;
use serde_json::{Value, json};

use super::{Desk, open};
use crate::cli::channel::{Channel, ChannelAdd, ChannelChange};
use crate::cli::operate::{In, named};
use crate::home::Home;
use crate::screen::{BAD, Cell, GOOD, HEADER, QUIET, WAITS, print_rows};
use crate::world::unknown;
use crate::{kit, random, secrets, toolbox};

/// The channels that have a name of their own.
const KNOWN: [&str; 6] = ["telegram", "webchat", "email", "webhook", "sms", "whatsapp"];

pub(crate) async fn run(command: &Channel) -> anyhow::Result<()> {
    match command {
        Channel::Ls(place) => ls(place).await,
        Channel::Add(new) => add(new).await,
        Channel::Change(change) => self::change(change).await,
    }
}

async fn add(command: &ChannelAdd) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let channel = Kind::from(command.channel.trim().to_lowercase());
    if let (Kind::Named(name), None) = (&channel, &command.how.settings) {
        let unknown = unknown("channel", name, KNOWN);
        bail!("{unknown} A webhook under that name needs the settings of one, with its `url`");
    }
    let new = NewBinding {
        channel,
        settings: command.how.settings.clone().unwrap_or_else(|| "{}".to_owned()),
        secret: command.how.secret.clone(),
        agent: command.how.agent.clone(),
        priority: command.priority,
    };
    let mut bound = desk.office(&org).draft_binding(new).await?;
    // A secret is made once the settings are known to be right.
    let lacks = |found| matches!(found, Err(OpenError::NoSecret { .. }));
    let given = bound.binding.channel == Kind::Email;
    if !given && lacks(kit::channels(&desk.home)?.open(&config(org.id, &bound)).map(drop)) {
        bound.secret = Some(secret(&desk, &org, &bound)?);
    }
    usable(&desk, &org, &bound)?;
    desk.office(&org).save_binding(bound.clone()).await?;
    if command.place.output.json {
        return crate::commands::print_json(&shown(&desk, &org, &bound, None));
    }
    let id = bound.binding.id;
    let words = format!("{} is reached by {} now", org.name, bound.binding.channel);
    anstream::println!("{words}  {QUIET}{id}{QUIET:#}");
    print_next(&desk.home, &bound);
    Ok(())
}

async fn change(command: &ChannelChange) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let known = desk.office(&org).bindings().await?;
    let known: Vec<BindingId> = known.iter().map(|one| one.binding.id).collect();
    let Some(id) = named(&command.binding, &known) else {
        bail!(
            "{} has no channel `{}`; see `ostler channel ls --org {}`",
            org.name,
            command.binding,
            org.slug
        );
    };
    let change = BindingChange {
        settings: command.how.settings.clone(),
        secret: command.how.secret.clone(),
        agent: command.how.agent.clone(),
        priority: command.priority,
        enabled: (command.on || command.off).then_some(command.on),
    };
    let bound = desk.office(&org).changed_binding(id, change).await?;
    if bound.binding.enabled {
        usable(&desk, &org, &bound)?;
    }
    desk.office(&org).save_binding(bound.clone()).await?;
    let state = if bound.binding.enabled { "on" } else { "off" };
    let words = format!("{id} is changed, and {state}");
    super::say(&command.place.output, &shown(&desk, &org, &bound, None), &words)
}

/// Refuses what could never be used. A secret may be missing here, and be there
/// where the channel is served.
fn usable(desk: &Desk, org: &Org, bound: &OrgBinding) -> anyhow::Result<()> {
    match kit::channels(&desk.home)?.open(&config(org.id, bound)) {
        Ok(_) => Ok(()),
        Err(OpenError::Secret { at, .. }) => {
            secrets::accept(toolbox::secrets(&desk.home).read(org.id, &at))
        }
        Err(refused) => bail!(refused),
    }
}

/// The secret of a channel for which none was named: a bot's token in the org's own
/// variable, or a new one, since nobody else gives it out.
fn secret(desk: &Desk, org: &Org, bound: &OrgBinding) -> anyhow::Result<SecretRef> {
    let binding = &bound.binding;
    let new = match binding.channel {
        Kind::Telegram => {
            let at = toolbox::own_variable(org.id, "telegram");
            if toolbox::secrets(&desk.home).read_key(org.id, &at).is_ok() {
                return Ok(at);
            }
            let name = at.to_string().replacen("env:", "", 1);
            bail!(
                "a bot needs the token that @BotFather gave out; set {name} to it, here and where \
                 `ostler serve` runs, or say with --secret where it is"
            );
        }
        Kind::Webchat => random::text()?,
        _ => Keys::write(&random::bytes()?),
    };
    // A channel may have any name, a file may not.
    secrets::keep(&desk.home, org.id, &binding.id.to_string(), &new)
}

fn print_next(home: &Home, bound: &OrgBinding) {
    let (id, web) = (bound.binding.id, home.web_address());
    let line = |what: &str, text: &str| anstream::println!("{QUIET}{what:8}{QUIET:#}{text}");
    if let Some(at) = &bound.secret {
        line("secret", &at.to_string());
    }
    match &bound.binding.channel {
        Kind::Webchat => {
            line("page", &format!("{web}/chat/{id}"));
            let widget =
                format!("<script src=\"{web}/widget.js\" data-binding=\"{id}\" defer></script>");
            line("embed", &widget);
        }
        Kind::Telegram if home.config.public_url.is_none() => {
            line("next", "ostler serve   asks Telegram for what is written to the bot");
        }
        Kind::Telegram => line("next", "ostler serve   tells Telegram to bring what is written"),
        Kind::Email if !bound.settings.contains("inbound_secret") => {
            line("in", "nothing yet: the settings name no `inbound_secret`; see docs/CHANNELS.md");
        }
        _ => line("in", &format!("POST {web}/v1/webhooks/{id}")),
    }
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let known = desk.office(&org).bindings().await?;
    let channels = kit::channels(&desk.home)?;
    let wrong = |one: &OrgBinding| channels.open(&config(org.id, one)).err();
    if place.output.json {
        let all: Vec<Value> =
            known.iter().map(|one| shown(&desk, &org, one, wrong(one).as_ref())).collect();
        return crate::commands::print_json(&all);
    }
    let slug = &org.slug;
    if known.is_empty() {
        anstream::println!("{} is reached by no channel yet", org.name);
        anstream::println!("\n{QUIET}next{QUIET:#}  ostler channel add webchat --org {slug}");
        return Ok(());
    }
    let header = ["channel", "state", "agent", "priority", "binding", ""];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    for one in &known {
        let agent = desk.store.org(org.id).agent(one.agent).await?.slug;
        let (state, why) = match (one.binding.enabled, wrong(one)) {
            (false, _) => (Cell::styled("off", QUIET), Cell::default()),
            (true, None) => (Cell::styled("on", GOOD), Cell::default()),
            (true, Some(why @ OpenError::Secret { .. })) => {
                (Cell::styled("no secret", WAITS), Cell::styled(why.to_string(), WAITS))
            }
            (true, Some(why)) => (Cell::styled("wrong", BAD), Cell::styled(why.to_string(), BAD)),
        };
        let binding = &one.binding;
        rows.push([
            binding.channel.to_string().into(),
            state,
            agent.into(),
            binding.priority.to_string().into(),
            binding.id.to_string().into(),
            why,
        ]);
    }
    print_rows(&rows);
    Ok(())
}

fn shown(desk: &Desk, org: &Org, one: &OrgBinding, wrong: Option<&OpenError>) -> Value {
    let (id, web) = (one.binding.id, desk.home.web_address());
    let address = match one.binding.channel {
        Kind::Webchat => format!("{web}/chat/{id}"),
        _ => format!("{web}/v1/webhooks/{id}"),
    };
    let settings: Value = serde_json::from_str(&one.settings).unwrap_or_default();
    json!({"binding": id, "org": org.id, "channel": one.binding.channel, "agent": one.agent,
        "enabled": one.binding.enabled, "priority": one.binding.priority, "settings": settings,
        "secret": one.secret.as_ref().map(ToString::to_string), "address": address,
        "wrong": wrong.map(ToString::to_string)})
}
