//! `ostler agent ls`: the agents that answer people, and those on queues.

use anyhow::Context as _;
use clap::Args;
use ostler_bus::now;
use ostler_domain::agent::{Agent, AgentStatus};
use ostler_domain::org::Org;
use ostler_runtime::agents::{
    AgentRecord, MAX_PAGE_SIZE, Page, Placement, Registry as _, StoredRecords,
};
use ostler_store::Store;
use serde_json::{Value, json};

use super::show::agent_json;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::Operator;
use crate::config::keys;
use crate::screen::{Cell, DIM, GOOD, HEADER, WARNING, print_paragraph, print_rows};

#[derive(Debug, Args)]
pub(crate) struct AgentLsArgs {
    /// Org, by slug or id [default: all orgs]
    #[arg(long, value_name = "ORG", env = keys::ORG)]
    org: Option<String>,
    /// List only agents on queues
    #[arg(long)]
    queues: bool,
    /// List only agents on queues with this capability
    #[arg(long = "can", value_name = "CAPABILITY")]
    capability: Option<String>,
    /// List archived agents too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &AgentLsArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let orgs = match &args.org {
        Some(name) => vec![crate::commands::find_org(&operator.store, name).await?],
        None => operator.store.orgs().await?,
    };
    let (mut agents, mut records) = (Vec::new(), Vec::new());
    for org in &orgs {
        if !args.queues && args.capability.is_none() {
            let found = operator.store.org(org.id).agents().await?.into_iter();
            let listed = found.filter(|agent| args.all || agent.status != AgentStatus::Archived);
            agents.extend(listed.map(|agent| (org, agent)));
        }
        let found = queue_agents(&operator.store, org, args.capability.as_deref()).await?;
        records.extend(found.into_iter().map(|record| (org, record)));
    }
    if args.output.json {
        let agents = agents.iter().map(|(org, agent)| agent_json(org, agent));
        let records = records.iter().map(|(org, record)| record_json(org, record));
        return crate::commands::print_json(&agents.chain(records).collect::<Vec<Value>>());
    }
    if agents.is_empty() && records.is_empty() {
        anstream::println!("no agents; create one with `ostler agent create`");
        return Ok(());
    }
    if !agents.is_empty() {
        let header = ["org", "agent", "role", "autonomy", "model", "status"];
        let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
        rows.extend(agents.iter().map(|(org, agent)| agent_row(org, agent)));
        print_rows(&rows);
    }
    if !agents.is_empty() && !records.is_empty() {
        anstream::println!("\n{DIM}on queues{DIM:#}");
    }
    if !records.is_empty() {
        let header = ["org", "agent", "type", "can", "queue", "load", "state"];
        let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
        rows.extend(records.iter().map(|(org, record)| record_row(org, record)));
        print_rows(&rows);
    }
    if records.len() >= MAX_PAGE_SIZE {
        let note = format!("only the first {MAX_PAGE_SIZE} on queues of each org are listed");
        print_paragraph(&format!("{note}; filter with --can"), DIM);
    }
    Ok(())
}

/// Returns the registered agents of an org.
async fn queue_agents(
    store: &Store,
    org: &Org,
    capability: Option<&str>,
) -> anyhow::Result<Vec<AgentRecord>> {
    let registry = StoredRecords::new(store.clone(), org.id);
    let found = match capability {
        Some(capability) => {
            registry.find_by_capability(&capability.into(), now(), MAX_PAGE_SIZE).await
        }
        None => registry.list(Page::default()).await,
    };
    found.with_context(|| format!("cannot read the agents on queues of {}", org.name))
}

fn record_json(org: &Org, record: &AgentRecord) -> Value {
    let mut json = json!(record);
    json["runs_on"] = "queue".into();
    json["org"] = org.slug.as_str().into();
    json
}

fn agent_row(org: &Org, agent: &Agent) -> [Cell; 6] {
    [
        org.slug.as_str().into(),
        agent.slug.as_str().into(),
        agent.subtype.name().into(),
        agent.autonomy.name().into(),
        agent.models.first().map_or("default", String::as_str).into(),
        status(agent.status),
    ]
}

/// Describes the status of an agent.
pub(super) fn status(status: AgentStatus) -> Cell {
    match status {
        AgentStatus::Active => Cell::styled("active", GOOD),
        AgentStatus::Paused => Cell::styled("paused", WARNING),
        AgentStatus::Draft => Cell::styled("draft", DIM),
        AgentStatus::Archived => Cell::styled("archived", DIM),
    }
}

fn record_row(org: &Org, record: &AgentRecord) -> [Cell; 7] {
    [
        org.slug.as_str().into(),
        record.name.as_str().into(),
        record.agent_type.as_str().into(),
        capabilities(record).into(),
        queue(record).into(),
        record.load.to_string().into(),
        availability(record),
    ]
}

/// Returns the capabilities of an agent, separated by commas.
pub(super) fn capabilities(record: &AgentRecord) -> String {
    let names: Vec<String> =
        record.capabilities.iter().map(|capability| capability.clone().into()).collect();
    names.join(", ")
}

/// Describes the queue of an agent.
pub(super) fn queue(record: &AgentRecord) -> &'static str {
    match record.placement {
        Placement::Pinned => "own",
        Placement::Hosted => "shared",
    }
}

/// Describes whether an agent is available.
pub(super) fn availability(record: &AgentRecord) -> Cell {
    if record.is_available(now()) {
        Cell::styled("available", GOOD)
    } else {
        Cell::styled("away", DIM)
    }
}
