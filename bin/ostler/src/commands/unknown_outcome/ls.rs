//! `ostler unknown-outcome ls`.

use ostler_api::unknown_outcome::UnknownOutcome;

use super::LIST_LIMIT;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};
use ostler_runtime::delivery::notices::text::format_call;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let calls: Vec<UnknownOutcome> = org.list(&["unknown-outcomes"], &[], LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&calls);
    }
    let org = org.org;
    let Some(first) = calls.first() else {
        anstream::println!("no call in {} has an unknown outcome", org.name);
        return Ok(());
    };
    let header = ["id", "call", "since", "run"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(calls.iter().map(|call| {
        [
            Cell::id(&call.id),
            format_call(&call.tool, &call.arguments.to_string()).into(),
            Cell::whole(format_time(call.at)),
            Cell::id(&call.run),
        ]
    }));
    print_rows(&rows);
    let (id, slug) = (first.id, &org.slug);
    let resolve = format!("ostler unknown-outcome resolve {id} \"It was done once.\" --org {slug}");
    print_next([NextCommand::new(resolve, "record what you found out")]);
    Ok(())
}
