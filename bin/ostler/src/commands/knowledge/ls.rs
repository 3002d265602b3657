//! `ostler knowledge ls`.

use ostler_api::knowledge::Document;

use super::LIST_LIMIT;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_rows, thousands};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let documents: Vec<Document> = org.list(&["knowledge"], &[], LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&documents);
    }
    let header = ["document", "title", "tags", "bytes", "changed"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(documents.iter().map(|document| {
        let tags: Vec<&str> = document.tags.iter().map(String::as_str).collect();
        [
            Cell::id(&document.id),
            document.title.as_str().into(),
            tags.join(", ").into(),
            thousands(document.size).into(),
            Cell::whole(format_time(document.updated_at)),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
