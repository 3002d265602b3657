//! `ostler contact merge`.

use clap::Args;
use ostler_api::contact::{ContactDetail, MergeRequest, MergedContact};
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

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
    let org = open_org(&args.target).await?;
    let other: ContactDetail = org.get(&["contacts", &args.other]).await?;
    let other = other.contact.contact;
    let request = MergeRequest { other: other.id.to_string() };
    let made: MergedContact = org.post(&["contacts", &args.kept, "merge"], &request).await?;
    let (merged, counts) = (&made.contact, &made);
    let json = json!({"id": merged.id, "name": merged.name, "merged": other.id,
        "identifiers": counts.identifiers, "conversations": counts.conversations,
        "records": counts.records});
    let text = format!(
        "{} is now part of {} ({}): moved {} identifiers, {} conversations, {} records",
        other.name,
        merged.name,
        merged.id,
        counts.identifiers,
        counts.conversations,
        counts.records
    );
    print_result(&args.target.output, &json, &text)
}
