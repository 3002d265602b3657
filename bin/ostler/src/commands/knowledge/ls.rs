//! `ostler knowledge ls`.

use ostler_server::wire;

use super::LIST_LIMIT;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_rows, thousands};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let documents = operator.org(&org).documents(&Default::default(), None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = documents.into_iter().map(wire::document).collect();
        return crate::commands::print_json(&all);
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
