//! `ostler policy`: which tools the platform, an org and its agents allow and deny.

mod effect;
mod replay_view;
mod what_if;

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use ostler_api::resource::CallWindow;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_world::{Address, Kind, Resource, Resources};
use serde_json::{Value, json};

use super::apply::PlannedChange;
use super::args::{InstallationArgs, OrgArgs, OutputArgs};
use super::resource::{Ask, Assignment, Change, ChangeArgs, ResourceEditor, live_resources};
use crate::api_client::{ApiClient, open_org};
use crate::config::keys;

pub(crate) use replay_view::{print_replay, replay_json};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the tool policies of the platform, an organization and its agents
    #[command(after_help = "\
Examples:
  ostler policy show --org nordlicht")]
    Show(OrgArgs),
    /// Change a tool policy; which agents gain or lose which tools is shown before
    #[command(after_help = "\
Examples:
  ostler policy set --org nordlicht --deny send_bulk_email
  ostler policy set --org nordlicht --agent support --deny refund_payment
  ostler policy set --platform --deny delete_contact
  ostler policy set --org nordlicht --remove send_bulk_email

An empty allow list allows every tool; deny always wins.")]
    Set(PolicySetArgs),
    /// Show which tool calls of the last days another policy would decide differently
    #[command(after_help = "\
Examples:
  ostler policy what-if --org nordlicht --deny refund_payment
  ostler policy what-if --platform --deny delete_contact --days 30
  ostler policy what-if world/
  ostler policy what-if world/nordlicht.toml --json

Nothing is changed. Each recorded call is decided again, under the rules that apply
now and under the others. The session stays as it was: its failures, its budget and
what a person approved. `ostler apply --plan` shows the same.")]
    WhatIf(what_if::WhatIfArgs),
}

/// A change of a tool policy.
#[derive(Debug, Args)]
pub(crate) struct PolicyEdit {
    /// Tool to allow; once one is allowed, only allowed tools are left
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
    /// Tool to deny
    #[arg(long, value_name = "TOOL")]
    deny: Vec<String>,
    /// Tool to remove from both lists
    #[arg(long, value_name = "TOOL")]
    remove: Vec<String>,
    /// Agent whose policy to change, by slug [default: the policy of the organization]
    #[arg(long, value_name = "AGENT", conflicts_with = "platform")]
    agent: Option<String>,
    /// Change the policy of the platform, which applies everywhere
    #[arg(long)]
    platform: bool,
    /// Org, by slug or id [default: the only one beside the platform]
    #[arg(
        long,
        value_name = "ORG",
        env = keys::ORG,
        default_value = "",
        hide_default_value = true
    )]
    org: String,
}

impl PolicyEdit {
    const fn changes_something(&self) -> bool {
        !(self.allow.is_empty() && self.deny.is_empty() && self.remove.is_empty())
    }
}

#[derive(Debug, Args)]
pub(crate) struct PolicySetArgs {
    #[command(flatten)]
    edit: PolicyEdit,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(command: &PolicyCommand) -> anyhow::Result<()> {
    match command {
        PolicyCommand::Show(args) => show(args).await,
        PolicyCommand::Set(args) => set(args).await,
        PolicyCommand::WhatIf(args) => what_if::run(args).await,
    }
}

async fn show(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let editor = ResourceEditor::open(&org.api).await?;
    let slug = &org.org.slug;
    let mut policies: Vec<(String, ToolPolicy)> = Vec::new();
    for (address, resource) in editor.resources() {
        let name = match address.kind {
            Kind::Platform => "platform".to_owned(),
            Kind::Org if address.name == *slug => format!("org {slug}"),
            Kind::Agent if address.org == *slug => format!("agent {}", address.name),
            _ => continue,
        };
        policies.push((name, serde_json::from_value(resource.value()["tools"].clone())?));
    }
    if args.output.json {
        let each = policies.iter().map(|(name, policy)| json!({"of": name, "policy": policy}));
        return super::print_json(&each.collect::<Vec<_>>());
    }
    let list = |tools: &BTreeSet<_>| match tools.is_empty() {
        true => "-".to_owned(),
        false => tools.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    for (name, policy) in &policies {
        anstream::println!(
            "{name}\n  allow  {}\n  deny   {}",
            list(&policy.allow),
            list(&policy.deny)
        );
    }
    Ok(())
}

async fn set(args: &PolicySetArgs) -> anyhow::Result<()> {
    let api = ApiClient::open(&args.installation).await?;
    let (wanted, planned) = plan_edit(&api, &args.edit, None).await?;
    if !args.output.json {
        let before = live_resources(&api).await?;
        effect::print(&api, &before, &effect::after(&before, &wanted, &planned.plan)?).await?;
    }
    let how = Change { args: &args.change, output: &args.output, ask: Ask::First };
    planned.make(&how).await
}

/// Plans a change of a policy, and returns it with the resource as it is wanted.
async fn plan_edit(
    api: &ApiClient,
    edit: &PolicyEdit,
    window: Option<CallWindow>,
) -> anyhow::Result<(Resources, PlannedChange)> {
    let editor = ResourceEditor::open(api).await?;
    let address = match (edit.platform, &edit.agent) {
        (true, _) => Address::of_platform(),
        (false, agent) => {
            let org = api.find_org(&edit.org).await?.org.slug;
            match agent {
                Some(agent) => editor.find(&org, Kind::Agent, agent)?,
                None => Address::of_org(&org),
            }
        }
    };
    let mut policy: ToolPolicy =
        serde_json::from_value(editor.get(&address)?.value()["tools"].clone())?;
    for name in edit.allow.iter().chain(&edit.deny).chain(&edit.remove) {
        let tool = name.parse()?;
        policy.allow.remove(&tool);
        policy.deny.remove(&tool);
        if edit.allow.contains(name) {
            policy.allow.insert(tool);
        } else if edit.deny.contains(name) {
            policy.deny.insert(tool);
        }
    }
    let value: Value = serde_json::to_value(&policy)?;
    let mut resource = editor.get(&address)?.value().clone();
    Assignment::new("tools", value).apply(&mut resource);
    let wanted = [(address.clone(), Resource::parse(address.kind, &resource)?)].into();
    let planned = editor.plan(&wanted, window).await?;
    Ok((wanted, planned))
}
