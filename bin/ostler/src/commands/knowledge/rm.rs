//! `ostler knowledge rm`.

use anyhow::Context as _;
use clap::Args;
use ostler_domain::id::DocumentId;
use ostler_domain::org::Org;
use serde_json::json;

use super::LIST_LIMIT;
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::{Operator, open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct KnowledgeRmArgs {
    /// Document, by title, id or the end of its id
    #[arg(value_name = "DOCUMENT")]
    document: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KnowledgeRmArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let id = find(&operator, &org, &args.document).await?;
    operator.org(&org).remove_document(id).await?;
    let done = json!({"id": id, "done": "removed"});
    print_result(&args.target.output, &done, &format!("{id} is removed"))
}

/// Finds a document by its title, its id or the end of its id.
async fn find(operator: &Operator, org: &Org, name: &str) -> anyhow::Result<DocumentId> {
    let documents = operator.org(org).documents(&Default::default(), None, LIST_LIMIT).await?;
    let mut named = documents.iter().filter(|document| document.title == name);
    if let (Some(document), None) = (named.next(), named.next()) {
        return Ok(document.id);
    }
    let known: Vec<DocumentId> = documents.iter().map(|document| document.id).collect();
    match_id(name, &known)?.with_context(|| {
        format!(
            "{} has no document `{name}`; see `ostler knowledge ls --org {}`",
            org.name, org.slug
        )
    })
}
