//! `ostler layer`: the org tree with business layers, and the guardrail matrix.

use ostler_domain::org::guardrail::{Capability, MATRIX, Right};
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::org::plan::Allowance;
use ostler_domain::org::{Org, Place};
use serde::Serialize;

use crate::screen::{Cell, HEADER, QUIET, print_rows, thousands};
use crate::world::{World, place_name};

pub(crate) fn run(world: &World, json: bool) -> anyhow::Result<()> {
    if json {
        return super::print_json(&report(world));
    }
    print_tree(world);
    anstream::println!();
    print_matrix();
    Ok(())
}

/// The orgs and their agents as a tree.
pub(crate) fn print_tree(world: &World) {
    let mut rows = Vec::new();
    let (platform, top): (Vec<&Org>, Vec<&Org>) = world
        .orgs
        .iter()
        .filter(|org| org.parent().is_none())
        .partition(|org| org.place == Place::Platform);
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
    let mut credits = Cell::styled(credits(org), QUIET);
    let agents: Vec<_> = world.agents_of(org).collect();
    for agent in &agents {
        let standing = &agent.standing;
        let mut layer = format!("business layer {}", standing.business_layer.number());
        if standing.guarded_as != standing.business_layer {
            layer.push_str(&format!(", guarded as {}", standing.guarded_as.number()));
        }
        let [label, name] = std::mem::take(&mut first);
        let agent = &agent.agent;
        rows.push([
            label,
            name,
            agent.display_name.clone().into(),
            agent.subtype.name().into(),
            layer.into(),
            std::mem::take(&mut credits),
        ]);
    }
    if agents.is_empty() {
        let [label, name] = first;
        rows.push([label, name, Cell::styled("no agents", QUIET), "".into(), "".into(), credits]);
    }
}

fn credits(org: &Org) -> String {
    let amount = match org.plan.monthly_credits() {
        Allowance::UpTo(credits) => format!("{} credits a month", thousands(credits.get())),
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
                QUIET
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
struct Report<'a> {
    orgs: Vec<OrgReport<'a>>,
    guardrails: Vec<Guardrail>,
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
struct Guardrail {
    capability: Capability,
    /// The rights of the business layers 1 to 4.
    rights: [Right; 4],
}

fn report<'a>(world: &'a World) -> Report<'a> {
    let agents = |org: &'a Org| {
        world
            .agents_of(org)
            .map(|agent| AgentReport {
                slug: &agent.agent.slug,
                name: &agent.agent.display_name,
                subtype: agent.agent.subtype.name(),
                business_layer: agent.standing.business_layer,
                guarded_as_business_layer: agent.standing.guarded_as,
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
    Report {
        orgs: world.orgs.iter().map(org).collect(),
        guardrails: MATRIX.map(|(capability, rights)| Guardrail { capability, rights }).into(),
    }
}
