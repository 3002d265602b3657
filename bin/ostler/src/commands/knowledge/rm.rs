//! `ostler knowledge rm`.

use clap::Args;
use ostler_domain::id::DocumentId;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct KnowledgeRmArgs {
    /// Document, by id
    #[arg(value_name = "DOCUMENT")]
    document: DocumentId,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KnowledgeRmArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    operator.org(&org).remove_document(args.document).await?;
    let done = json!({"document": args.document, "done": "removed"});
    print_result(&args.target.output, &done, &format!("{} is removed", args.document))
}
