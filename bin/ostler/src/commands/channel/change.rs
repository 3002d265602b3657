//! `ostler channel change`.

use clap::Args;
use ostler_api::channel::{ChannelBinding, ChannelChange};
use ostler_domain::id::BindingId;

use super::{BindingArgs, binding_json, parse_settings};
use crate::api_client::{not_here, open_org};
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::print_result;
use crate::screen::print_notes;

#[derive(Debug, Args)]
pub(crate) struct ChannelChangeArgs {
    /// Binding, by id or the end of its id
    #[arg(value_name = "BINDING")]
    id: String,
    /// Priority among the channels of the org; the lowest number is used first
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// Switch the channel on
    #[arg(long, conflicts_with = "off")]
    on: bool,
    /// Switch the channel off: it neither receives nor sends
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    binding: BindingArgs,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ChannelChangeArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let known: Vec<ChannelBinding> = org.list(&["bindings"], &[], usize::MAX).await?;
    let ids: Vec<BindingId> = known.iter().map(|bound| bound.binding).collect();
    let id = match_id(&args.id, &ids)?;
    let Some(bound) = known.iter().find(|bound| Some(bound.binding) == id) else {
        let (name, slug) = (&org.org.name, &org.org.slug);
        return Err(not_here(format!(
            "{name} has no channel `{}`; see `ostler channel ls --org {slug}`",
            args.id
        )));
    };
    let settings = args.binding.settings.as_deref();
    let change = ChannelChange {
        settings: settings.map(|text| parse_settings(text, &bound.channel)).transpose()?,
        secret: args.binding.secret.clone(),
        agent: args.binding.agent.clone(),
        priority: args.priority,
        enabled: (args.on || args.off).then_some(args.on),
    };
    let id = bound.binding.to_string();
    let changed: ChannelBinding = org.patch(&["bindings", &id], &change).await?;
    print_notes(&changed.notes);
    let state = if changed.enabled { "on" } else { "off" };
    let text = format!("{id} changed; it is {state}");
    print_result(&args.target.output, &binding_json(&changed), &text)
}
