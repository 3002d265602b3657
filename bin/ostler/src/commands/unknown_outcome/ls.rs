//! `ostler unknown-outcome ls`.

use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};
use ostler_runtime::delivery::notices::text::format_call;
/// The most calls that are listed.
const LIST_LIMIT: u32 = 100;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let calls = operator.org(&org).unknown_calls(None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = calls
            .iter()
            .map(|call| {
                json!({"call": call.intent.call, "tool": call.intent.tool,
                    "arguments": call.intent.arguments, "conversation": call.conversation,
                    "run": call.run, "at": call.intended_at})
            })
            .collect();
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
            call.intent.call.to_string().into(),
            format_call(&call.intent.tool, &call.intent.arguments).into(),
            format_time(call.intended_at).into(),
            call.run.to_string().into(),
        ]
    }));
    print_rows(&rows);
    anstream::println!(
        "\n{DIM}next{DIM:#}  find out what happened, then record it:\n      ostler \
         unknown-outcome resolve {} \"It was done once.\" --org {}",
        first.intent.call,
        org.slug
    );
    Ok(())
}
