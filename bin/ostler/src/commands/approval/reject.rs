//! `ostler approval reject`.

use clap::Args;
use ostler_api::approval::{Approval, RejectRequest};

use super::{find_approval, print_decision};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// Approval, by id or the end of its id
    #[arg(value_name = "APPROVAL")]
    approval: String,
    /// Reason, which the agent reads
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &RejectArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find_approval(&org, &args.approval).await?.to_string();
    let request = RejectRequest { reason: args.reason.clone() };
    let rejected: Approval = org.post(&["approvals", &id, "reject"], &request).await?;
    print_decision(&rejected, args.target.output.json, "rejected; the agent tells the customer")
}
