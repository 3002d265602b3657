//! `ostler agent ls`: the agents that answer people, and those on queues.

use clap::Args;
use ostler_api::agent::AgentSummary;
use ostler_api::org::OrgSummary;
use ostler_api::queue_agent::QueueAgent;
use ostler_domain::agent::AgentStatus;
use ostler_domain::queue_agent::selection::Placement;
use ostler_runtime::agents::MAX_PAGE_SIZE;
use serde_json::{Value, json};

use super::show::agent_json;
use crate::api_client::open_orgs;
use crate::commands::args::{InstallationArgs, OutputArgs};
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
    let orgs = open_orgs(&args.installation, args.org.as_deref().unwrap_or_default()).await?;
    let (mut agents, mut records) = (Vec::new(), Vec::new());
    let can: Vec<_> = args.capability.as_deref().map(|can| ("can", can)).into_iter().collect();
    for org in &orgs {
        if !args.queues && args.capability.is_none() {
            let mut found: Vec<AgentSummary> =
                org.list(&["agent-summaries"], &[], usize::MAX).await?;
            found.retain(|agent| args.all || agent.status != AgentStatus::Archived);
            agents.extend(found.into_iter().map(|agent| (&org.org, agent)));
        }
        let found: Vec<QueueAgent> = org.list(&["queue-agents"], &can, usize::MAX).await?;
        records.extend(found.into_iter().map(|record| (&org.org, record)));
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

fn record_json(org: &OrgSummary, record: &QueueAgent) -> Value {
    let mut json = json!(record);
    json["runs_on"] = "queue".into();
    json["org"] = org.slug.as_str().into();
    json
}

fn agent_row(org: &OrgSummary, agent: &AgentSummary) -> [Cell; 6] {
    [
        org.slug.as_str().into(),
        agent.slug.as_str().into(),
        agent.subtype.as_str().into(),
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

fn record_row(org: &OrgSummary, record: &QueueAgent) -> [Cell; 7] {
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
pub(super) fn capabilities(record: &QueueAgent) -> String {
    let names: Vec<String> =
        record.capabilities.iter().map(|capability| capability.clone().into()).collect();
    names.join(", ")
}

/// Describes the queue of an agent.
pub(super) fn queue(record: &QueueAgent) -> &'static str {
    match record.placement {
        Placement::Pinned => "own",
        Placement::Hosted => "shared",
    }
}

/// Describes whether an agent is available.
pub(super) fn availability(record: &QueueAgent) -> Cell {
    if record.available { Cell::styled("available", GOOD) } else { Cell::styled("away", DIM) }
}
