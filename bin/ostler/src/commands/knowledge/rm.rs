//! `ostler knowledge rm`.

use anyhow::Context as _;
use clap::Args;
use ostler_api::knowledge::Document;
use ostler_domain::id::DocumentId;
use serde_json::json;

use super::LIST_LIMIT;
use crate::api_client::{Nothing, OrgApi, open_org};
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct KnowledgeRmArgs {
    /// Document, by title, id or the end of its id
    #[arg(value_name = "DOCUMENT")]
    document: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KnowledgeRmArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.document).await?;
    org.delete::<Nothing>(&["knowledge", &id.to_string()]).await?;
    let done = json!({"id": id, "done": "removed"});
    print_result(&args.target.output, &done, &format!("{id} is removed"))
}

/// Finds a document by its title, its id or the end of its id.
async fn find(org: &OrgApi, name: &str) -> anyhow::Result<DocumentId> {
    let documents: Vec<Document> = org.list(&["knowledge"], &[], LIST_LIMIT).await?;
    let mut named = documents.iter().filter(|document| document.title == name);
    if let (Some(document), None) = (named.next(), named.next()) {
        return Ok(document.id);
    }
    let known: Vec<DocumentId> = documents.iter().map(|document| document.id).collect();
    match_id(name, &known)?.with_context(|| {
        format!(
            "{} has no document `{name}`; see `ostler knowledge ls --org {}`",
            org.org.name, org.org.slug
        )
    })
}
