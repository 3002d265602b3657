//! `ostler channel change`.

use anyhow::bail;
use clap::Args;
use ostler_domain::id::BindingId;
use ostler_runtime::operations::BindingChange;

use super::{BindingArgs, binding_json, check_usable};
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::{open_org, print_result};

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
    let (operator, org) = open_org(&args.target).await?;
    let known = operator.org(&org).bindings().await?;
    let known: Vec<BindingId> = known.iter().map(|bound| bound.binding.id).collect();
    let Some(id) = match_id(&args.id, &known)? else {
        bail!(
            "{} has no channel `{}`; see `ostler channel ls --org {}`",
            org.name,
            args.id,
            org.slug
        );
    };
    let change = BindingChange {
        settings: args.binding.settings.clone(),
        secret: args.binding.secret.clone(),
        agent: args.binding.agent.clone(),
        priority: args.priority,
        enabled: (args.on || args.off).then_some(args.on),
    };
    let bound = operator.org(&org).changed_binding(id, change).await?;
    if bound.binding.enabled {
        check_usable(&operator, &org, &bound)?;
    }
    operator.org(&org).save_binding(bound.clone()).await?;
    let state = if bound.binding.enabled { "on" } else { "off" };
    let text = format!("{id} changed; it is {state}");
    print_result(&args.target.output, &binding_json(&operator, &org, &bound, None), &text)
}
