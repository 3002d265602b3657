//! `ostler org create`.

use std::num::NonZeroU32;

use clap::Args;
use ostler_api::deep_link::{NewDeepLink, NewDeepLinkRequest};
use ostler_api::org::{CreatedClient, NewClientRequest};
use ostler_api::problem::{Problem, ProblemCode};
use ostler_domain::hierarchy::deep_link::DEFAULT_LINK_DAYS;
use ostler_domain::org::plan::LicencePlan;
use ostler_runtime::operations::{ClientParts, first_resources};
use ostler_world::{Address, Resource, Resources};
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::resource::{Ask, Assignment, Change, ChangeArgs, ResourceEditor};
use crate::screen::print_notes;

#[derive(Debug, Args)]
pub(crate) struct OrgCreateArgs {
    /// Name in commands and addresses: lower-case letters, digits and `-`
    #[arg(value_name = "SLUG")]
    slug: String,
    /// Name on screens and in prompts [default: the slug]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Agency that it is a client of
    #[arg(long, value_name = "ORG")]
    parent: Option<String>,
    /// Create no agents; a client gets a PM, customer service and a web chat by itself
    #[arg(long, requires = "parent")]
    no_agents: bool,
    /// Also create a coordinator, which routes between the agency and its client
    #[arg(long, requires = "parent", conflicts_with = "no_agents")]
    coordinator: bool,
    /// E-mail address of an owner; repeat it for several
    #[arg(long = "owner", value_name = "EMAIL", requires = "parent", conflicts_with = "no_agents")]
    owners: Vec<String>,
    /// Licence plan: free, starter, pro, professional, agency or enterprise
    #[arg(long, value_name = "PLAN", default_value = "free", value_parser = parse_plan)]
    plan: LicencePlan,
    /// The licence includes client organizations
    #[arg(long)]
    sub_orgs: bool,
    /// Time zone, by its IANA name
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    time_zone: String,
    /// Days after which ended conversations are deleted [default: never]
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<NonZeroU32>,
    /// Credits to start with
    #[arg(long, value_name = "N", default_value_t = 0)]
    credits: u64,
    /// Other fields, as for `ostler org set`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    fields: Vec<Assignment>,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &OrgCreateArgs) -> anyhow::Result<()> {
    let api = ApiClient::open(&args.installation).await?;
    let editor = ResourceEditor::open(&api).await?;
    let address = Address::of_org(&args.slug);
    if editor.resources().contains_key(&address) {
        anyhow::bail!(
            "there is an organization `{0}` already; change it with `ostler org set {0}`",
            args.slug
        );
    }
    let mut value = json!({
        "slug": args.slug,
        "name": args.name.as_ref().unwrap_or(&args.slug),
        "parent": args.parent,
        "plan": args.plan,
        "sub_orgs": args.sub_orgs,
        "time_zone": args.time_zone,
        "retention_days": args.retention_days,
        "starting_credits": args.credits,
    });
    for field in &args.fields {
        field.apply(&mut value);
    }
    let how = Change { args: &args.change, output: &args.output, ask: Ask::Never };
    let org = parse(&address, &value)?;
    let mut resources: Resources = [(address, org)].into();
    let with_agents = args.parent.is_some() && !args.no_agents;
    if with_agents {
        let name = args.name.as_ref().unwrap_or(&args.slug);
        let parts = ClientParts::All { coordinator: args.coordinator };
        resources.extend(first_resources(&args.slug, name, &args.owners, parts)?);
    }
    match (editor.plan(&resources, None).await, &args.parent) {
        // Licences are the platform's; an agency creates clients on the free plan.
        (Err(error), Some(agency)) if is_forbidden(&error) && args.is_free_client() => {
            return create_client(&api, agency, args).await;
        }
        (planned, _) => planned?.make(&how).await?,
    }
    if !args.output.json && with_agents && !args.change.is_dry_run() {
        print_deep_link(&api, &args.slug).await?;
    }
    if !args.output.json && with_agents {
        anstream::println!("next     ostler channel ls --org {}", args.slug);
    } else if !args.output.json {
        anstream::println!("next     ostler agent create SLUG --org {}", args.slug);
    }
    Ok(())
}

impl OrgCreateArgs {
    /// Returns whether this is a client with its first agents, on the free plan, and nothing
    /// else.
    fn is_free_client(&self) -> bool {
        let is_plain = self.plan == LicencePlan::Free && !self.sub_orgs && self.credits == 0;
        let has_more =
            self.retention_days.is_some() || !self.fields.is_empty() || self.change.is_dry_run();
        self.parent.is_some() && !self.no_agents && is_plain && !has_more
    }
}

fn is_forbidden(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.code == ProblemCode::Forbidden)
}

/// Creates a client in the name of its agency.
async fn create_client(api: &ApiClient, agency: &str, args: &OrgCreateArgs) -> anyhow::Result<()> {
    let request = NewClientRequest {
        slug: args.slug.clone(),
        name: args.name.clone().unwrap_or_else(|| args.slug.clone()),
        time_zone: args.time_zone.clone(),
        owners: args.owners.clone(),
        coordinator: args.coordinator,
    };
    let created: CreatedClient = api.find_org(agency).await?.post(&["clients"], &request).await?;
    if args.output.json {
        return crate::commands::print_json(&created);
    }
    anstream::println!("{} is a client of {agency}", created.org.name);
    print_notes(created.missing.as_slice());
    Ok(())
}

/// Creates and prints a deep link to a new client, unless no bot with a known name serves it.
async fn print_deep_link(api: &ApiClient, slug: &str) -> anyhow::Result<()> {
    let client = api.find_org(slug).await?;
    let request = NewDeepLinkRequest { agent: None, days: DEFAULT_LINK_DAYS };
    let link: NewDeepLink = client.post(&["deep-links"], &request).await?;
    if let Some(url) = link.url {
        anstream::println!("telegram {url}");
    }
    Ok(())
}

fn parse(address: &Address, value: &Value) -> anyhow::Result<Resource> {
    Resource::parse(address.kind, value).map_err(|error| anyhow::anyhow!("{address}: {error}"))
}

fn parse_plan(text: &str) -> Result<LicencePlan, String> {
    let names = LicencePlan::ALL.map(LicencePlan::name);
    let known = LicencePlan::ALL.into_iter().find(|plan| plan.name() == text);
    known.ok_or_else(|| ostler_world::unknown_name("plan", text, names))
}
