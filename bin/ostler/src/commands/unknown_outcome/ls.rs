//! `ostler unknown-outcome ls`.

use ostler_server::wire;

use super::LIST_LIMIT;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};
use ostler_runtime::delivery::notices::text::format_call;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let calls = operator.org(&org).unknown_calls(None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = calls.into_iter().map(wire::unknown_outcome).collect();
        return crate::commands::print_json(&all);
    }
    let Some(first) = calls.first() else {
        anstream::println!("no call in {} has an unknown outcome", org.name);
        return Ok(());
    };
    let header = ["id", "call", "since", "run"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(calls.iter().map(|call| {
        [
            Cell::id(&call.intent.call),
            format_call(&call.intent.tool, &call.intent.arguments).into(),
            Cell::whole(format_time(call.intended_at)),
            Cell::id(&call.run),
        ]
    }));
    print_rows(&rows);
    let (id, slug) = (first.intent.call, &org.slug);
    let resolve = format!("ostler unknown-outcome resolve {id} \"It was done once.\" --org {slug}");
    print_next([NextCommand::new(resolve, "record what you found out")]);
    Ok(())
}
