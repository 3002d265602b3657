//! `ostler delegation show`.

use clap::Args;
use ostler_api::queue_agent::DelegationDetail;

use super::ls::{due, print_delegations, status};
use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
use crate::screen::{Cell, HEADER, print_fields};

#[derive(Debug, Args)]
pub(crate) struct DelegationShowArgs {
    /// Delegation, by id or reference code
    #[arg(value_name = "DELEGATION")]
    delegation: String,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &DelegationShowArgs) -> anyhow::Result<()> {
    super::check_name(&args.delegation)?;
    let path = ["delegations", args.delegation.as_str()];
    let details: DelegationDetail =
        with_queues(&args.bus, async |queues| queues.org.get(&path).await).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&details);
    }
    print(&details);
    Ok(())
}

fn print(details: &DelegationDetail) {
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
