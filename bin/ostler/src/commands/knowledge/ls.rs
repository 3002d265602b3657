//! `ostler knowledge ls`.

use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_rows, thousands};
/// The most documents that are listed.
const LIST_LIMIT: u32 = 200;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let documents = operator.org(&org).documents(&Default::default(), None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = documents
            .iter()
            .map(|document| {
                json!({"document": document.id, "title": document.title, "tags": document.tags,
                    "bytes": document.size, "updated_at": document.updated_at})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let header = ["document", "title", "tags", "bytes", "changed"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(documents.iter().map(|document| {
        let tags: Vec<&str> = document.tags.iter().map(String::as_str).collect();
        [
            document.id.to_string().into(),
            document.title.as_str().into(),
            tags.join(", ").into(),
            thousands(document.size).into(),
            format_time(document.updated_at).into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
