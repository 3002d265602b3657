//! `ostler approval reject`.

use clap::Args;

use super::{find_pending, print_decision};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;

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
    let (operator, org) = open_org(&args.target).await?;
    let id = find_pending(&operator, &org, &args.approval).await?;
    let rejected = operator.org(&org).reject(id, &args.reason).await?;
    print_decision(&rejected, args.target.output.json, "rejected; the agent tells the customer")
}
