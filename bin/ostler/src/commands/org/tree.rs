//! `ostler org tree`: the org tree with business layers, and the guardrail matrix.

use std::path::PathBuf;

use clap::Args;
use ostler_domain::agent::AgentKind;
use ostler_domain::org::guardrail::{Capability, MATRIX, Right};
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::org::plan::Allowance;
use ostler_domain::org::{Org, OrgPlace};
use serde::Serialize;

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::resource::live_resources;
use crate::screen::{Cell, DIM, HEADER, count, print_rows};
use crate::world::{World, place_name};

#[derive(Debug, Args)]
pub(crate) struct OrgTreeArgs {
    /// World file to look at instead of the installation, such as examples/harbour.toml
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &OrgTreeArgs) -> anyhow::Result<()> {
    let world = match &args.world {
        Some(file) => World::read(file)?,
        None => {
            let api = ApiClient::open(&args.installation).await?;
            World::of_resources(&live_resources(&api).await?)?
        }
    };
    if args.output.json {
        return crate::commands::print_json(&report(&world));
    }
    print_tree(&world);
    anstream::println!();
    print_matrix();
    Ok(())
}

/// Prints the orgs and their agents as a tree.
pub(in crate::commands) fn print_tree(world: &World) {
    let mut rows = Vec::new();
    let (platform, top): (Vec<&Org>, Vec<&Org>) = world
        .orgs
        .iter()
        .filter(|org| org.parent().is_none())
        .partition(|org| org.place == OrgPlace::Platform);
    for org in platform {
        push_org(world, org, "", &mut rows);
    }
    for org in top {
        push_org(world, org, "└ ", &mut rows);
        for child in world.orgs.children_of(org.id) {
            push_org(world, child, "  └ ", &mut rows);
        }
    }
    print_rows(&rows);
}

fn push_org(world: &World, org: &Org, branch: &str, rows: &mut Vec<[Cell; 6]>) {
    let label = format!("{branch}{}", place_name(org));
    let mut first = [Cell::from(label), Cell::styled(org.name.clone(), HEADER)];
    let mut credits = Cell::styled(credits(org), DIM);
    let agents: Vec<_> =
        world.agents_of(org).filter(|agent| agent.agent.kind != AgentKind::Template).collect();
    for agent in &agents {
        let position = &agent.position;
        let mut layer = format!("business layer {}", position.business_layer.number());
        if position.guardrail_layer != position.business_layer {
            layer.push_str(&format!(", guarded as {}", position.guardrail_layer.number()));
        }
        let [label, name] = std::mem::take(&mut first);
        let agent = &agent.agent;
        rows.push([
            label,
            name,
            agent.display_name.clone().into(),
            agent.subtype.name().into(),
            Cell::whole(layer),
            std::mem::take(&mut credits),
        ]);
    }
    if agents.is_empty() {
        let [label, name] = first;
        rows.push([label, name, Cell::styled("no agents", DIM), "".into(), "".into(), credits]);
    }
}

fn credits(org: &Org) -> String {
    let amount = match org.plan.monthly_credits() {
        Allowance::UpTo(credits) => format!("{} a month", count(credits.get(), "credit")),
        Allowance::Unlimited => "unlimited credits".to_owned(),
    };
    format!("{}, {amount}", org.plan.name())
}

fn print_matrix() {
    let header = |text: String| Cell::styled(text, HEADER);
    let mut rows = vec![std::array::from_fn(|column| match column {
        0 => header("guardrail".to_owned()),
        n => {
            let layer = BusinessLayer::ALL[n - 1];
            header(format!("{} {}", layer.number(), layer.name()))
        }
    })];
    for (capability, rights) in MATRIX {
        let mut row: [Cell; 5] = Default::default();
        row[0] = capability.to_string().into();
        for (cell, right) in row[1..].iter_mut().zip(rights) {
            let style = if matches!(right, Right::No | Right::NotApplicable) {
                DIM
            } else {
                Default::default()
            };
            *cell = Cell::styled(right.to_string(), style);
        }
        rows.push(row);
    }
    print_rows(&rows);
}

#[derive(Serialize)]
struct TreeReport<'a> {
    orgs: Vec<OrgReport<'a>>,
    guardrails: Vec<GuardrailReport>,
}

#[derive(Serialize)]
struct OrgReport<'a> {
    slug: &'a str,
    name: &'a str,
    parent: Option<&'a str>,
    plan: &'static str,
    agents: Vec<AgentReport<'a>>,
}

#[derive(Serialize)]
struct AgentReport<'a> {
    slug: &'a str,
    name: &'a str,
    subtype: &'a str,
    business_layer: BusinessLayer,
    guarded_as_business_layer: BusinessLayer,
}

#[derive(Serialize)]
struct GuardrailReport {
    capability: Capability,
    /// The rights of the business layers 1 to 4.
    rights: [Right; 4],
}

fn report<'a>(world: &'a World) -> TreeReport<'a> {
    let agents = |org: &'a Org| {
        world
            .agents_of(org)
            .map(|agent| AgentReport {
                slug: &agent.agent.slug,
                name: &agent.agent.display_name,
                subtype: agent.agent.subtype.name(),
                business_layer: agent.position.business_layer,
                guarded_as_business_layer: agent.position.guardrail_layer,
            })
            .collect()
    };
    let org = |org: &'a Org| OrgReport {
        slug: &org.slug,
        name: &org.name,
        parent: world.orgs.parent_of(org).map(|parent| parent.slug.as_str()),
        plan: org.plan.name(),
        agents: agents(org),
    };
    TreeReport {
        orgs: world.orgs.iter().map(org).collect(),
        guardrails: MATRIX
            .map(|(capability, rights)| GuardrailReport { capability, rights })
            .into(),
    }
}
