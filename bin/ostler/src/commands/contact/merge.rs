//! `ostler contact merge`.

use anyhow::bail;
use clap::Args;
use ostler_runtime::operations::{OrgOperations, Person};
use ostler_store::StoredContact;
use serde_json::json;

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
    let kept = find(&operations, &args.kept).await?;
    let other = find(&operations, &args.other).await?;
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

async fn find(operations: &OrgOperations<'_>, name: &str) -> anyhow::Result<StoredContact> {
    match operations.find_person(name).await? {
        Person::Contact(stored) => Ok(stored),
        Person::Visitor(_) => {
            bail!("{name} is a visitor without a contact; only contacts are merged")
        }
    }
}
