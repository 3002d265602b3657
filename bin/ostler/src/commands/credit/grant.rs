//! `ostler credit grant`.

use std::num::NonZeroU64;

use clap::Args;
use ostler_api::credit::GrantRequest;
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;

use super::show;
use crate::api_client::{Nothing, open_org};
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    /// Number of credits
    #[arg(value_name = "CREDITS", value_parser = parse_credits)]
    amount: NonZeroU64,
    /// What the grant is for; the same reference is granted only once
    #[arg(long, value_name = "TEXT")]
    reference: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &GrantArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let grant = GrantRequest {
        reference: args.reference.clone(),
        pool: PoolKind::Purchased,
        amount: Credits::new(args.amount.get()),
    };
    org.post::<Nothing>(&["credits", "grants"], &grant).await?;
    show::print(&org, &args.target.output).await
}

fn parse_credits(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "write a number from 1 on".to_owned())
}
