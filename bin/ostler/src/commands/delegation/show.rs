//! `ostler delegation show`.

use clap::Args;
use ostler_domain::queue_agent::delegation::Delegation;
use serde::Serialize;

use super::ls::{due, print_delegations, status};
use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;
use crate::screen::{Cell, HEADER, print_fields};

#[derive(Debug, Args)]
pub(crate) struct DelegationShowArgs {
    /// Delegation, by id or reference code
    #[arg(value_name = "DELEGATION")]
    delegation: String,
    #[command(flatten)]
    bus: BusArgs,
}

#[derive(Serialize)]
struct DelegationDetails {
    work: Delegation,
    waits_for: Vec<Delegation>,
    blocks: Vec<Delegation>,
}

pub(super) async fn run(args: &DelegationShowArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let details = load(&client, &args.delegation).await;
    client.close().await?;
    let details = details?;
    if args.bus.output.json {
        return crate::commands::print_json(&details);
    }
    print(&details);
    Ok(())
}

async fn load(client: &AgentClient, name: &str) -> anyhow::Result<DelegationDetails> {
    let work = super::find(client, name).await?;
    let delegations = client.runtime.delegations();
    let (mut waits_for, mut blocks) = (Vec::new(), Vec::new());
    for id in &work.blocked_by {
        waits_for.extend(delegations.get(*id).await?);
    }
    for id in delegations.blocks(work.id).await? {
        blocks.extend(delegations.get(id).await?);
    }
    Ok(DelegationDetails { work, waits_for, blocks })
}

fn print(details: &DelegationDetails) {
    let work = &details.work;
    print_fields(&[
        [Cell::styled(work.reference.to_string(), HEADER), status(work)],
        ["id".into(), work.id.to_string().into()],
        ["description".into(), work.description.as_str().into()],
        ["assignee".into(), work.assignee.as_str().into()],
        ["from".into(), work.delegated_by.as_str().into()],
        ["due".into(), due(work).into()],
    ]);
    for (title, list) in [("waits for", &details.waits_for), ("blocks", &details.blocks)] {
        if !list.is_empty() {
            anstream::println!("\n{title}");
            print_delegations(list);
        }
    }
}
