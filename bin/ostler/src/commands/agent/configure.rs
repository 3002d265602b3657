//! `ostler agent create, set, edit, pause, resume, archive`: the configuration of agents.

use clap::Args;
use ostler_domain::agent::autonomy::initial_level;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::org::layer::BusinessPosition;
use ostler_world::{Address, Kind};
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::resource::{Ask, Assignment, Change, ChangeArgs, ResourceEditor};

#[derive(Debug, Args)]
pub(crate) struct AgentCreateArgs {
    /// Name in commands: lower-case letters, digits and `-`
    #[arg(value_name = "SLUG")]
    slug: String,
    /// Name on screens and in prompts [default: the slug]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Role: pm, customer_service, sales_assistant, booking_agent, coordinator, or with
    /// --custom one of your own
    #[arg(long, value_name = "ROLE", default_value = "customer_service")]
    subtype: String,
    /// The role is one of your own; its agents are guarded as business layer 3
    #[arg(long)]
    custom: bool,
    /// What it may do without asking: supervised, semi_autonomous, autonomous or
    /// draft_only [default: that of its business layer]
    #[arg(long, value_name = "LEVEL")]
    autonomy: Option<String>,
    /// Models in order of preference [default: that of the installation]
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// Other fields, as for `ostler agent set`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    fields: Vec<Assignment>,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentEditArgs {
    /// Agent, by slug
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentSetArgs {
    /// Agent, by slug
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Fields and their new values
    #[arg(value_name = "KEY=VALUE", required = true)]
    fields: Vec<Assignment>,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn create(args: &AgentCreateArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let editor = ResourceEditor::open(&org.api).await?;
    let org = editor.org(&org)?;
    let address = Address { org: org.slug.clone(), kind: Kind::Agent, name: args.slug.clone() };
    if editor.resources().contains_key(&address) {
        anyhow::bail!(
            "{0} has an agent `{1}` already; change it with `ostler agent set {1} --org {0}`",
            org.slug,
            args.slug
        );
    }
    let position = BusinessPosition::of(&org, &Subtype::from(args.subtype.as_str()));
    let autonomy =
        args.autonomy.clone().unwrap_or_else(|| initial_level(&position).name().to_owned());
    let mut value = json!({
        "org": org.slug,
        "slug": args.slug,
        "name": args.name.as_ref().unwrap_or(&args.slug),
        "subtype": args.subtype,
        "custom": args.custom,
        "autonomy": autonomy,
        "models": args.models,
    });
    for field in &args.fields {
        field.apply(&mut value);
    }
    let how = Change { args: &args.change, output: &args.target.output, ask: Ask::Never };
    editor.replace(&address, &value, &how).await?;
    if !args.target.output.json {
        let AgentCreateArgs { slug, .. } = args;
        anstream::println!(
            "business layer {}, guarded as {}\nnext     ostler soul edit {slug} --org {}   ·   \
             ostler channel add webchat --org {}",
            position.business_layer.number(),
            position.guardrail_layer.number(),
            org.slug,
            org.slug
        );
    }
    Ok(())
}

pub(super) async fn set(args: &AgentSetArgs) -> anyhow::Result<()> {
    change(&args.agent, &args.fields, &args.change, &args.target, Ask::Never).await
}

/// Sets the status of an agent.
pub(super) async fn set_status(args: &AgentEditArgs, status: &str, ask: Ask) -> anyhow::Result<()> {
    let fields = [Assignment::new("status", status)];
    change(&args.agent, &fields, &args.change, &args.target, ask).await
}

pub(super) async fn edit(args: &AgentEditArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let editor = ResourceEditor::open(&org.api).await?;
    let address = editor.find(&org.org.slug, Kind::Agent, &args.agent)?;
    let how = Change { args: &args.change, output: &args.target.output, ask: Ask::First };
    editor.edit(&address, &how).await
}

async fn change(
    agent: &str,
    fields: &[Assignment],
    change: &ChangeArgs,
    target: &OrgArgs,
    ask: Ask,
) -> anyhow::Result<()> {
    let org = open_org(target).await?;
    let editor = ResourceEditor::open(&org.api).await?;
    let address = editor.find(&org.org.slug, Kind::Agent, agent)?;
    let how = Change { args: change, output: &target.output, ask };
    editor.set(&address, fields, &how).await
}
