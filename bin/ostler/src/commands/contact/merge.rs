//! `ostler contact merge`.

use clap::Args;
use serde_json::json;

use super::find_contact;
use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct ContactMergeArgs {
    /// Contact that is kept, by name, address, number, identifier or id
    #[arg(value_name = "CONTACT")]
    kept: String,
    /// Contact that becomes part of it
    #[arg(value_name = "OTHER")]
    other: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ContactMergeArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let operations = operator.org(&org);
    let kept = find_contact(&operations, &args.kept).await?;
    let other = find_contact(&operations, &args.other).await?;
    let (merged, counts) = operations.merge_contacts(&kept, &other).await?;
    let json = json!({"id": merged.id, "name": merged.name, "merged": other.contact.id,
        "identifiers": counts.identifiers, "conversations": counts.conversations,
        "records": counts.records});
    let text = format!(
        "{} is now part of {} ({}): moved {} identifiers, {} conversations, {} records",
        other.contact.name,
        merged.name,
        merged.id,
        counts.identifiers,
        counts.conversations,
        counts.records
    );
    print_result(&args.target.output, &json, &text)
}
