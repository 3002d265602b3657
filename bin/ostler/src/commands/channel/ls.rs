//! `ostler channel ls`.

use ostler_api::channel::ChannelBinding;
use serde_json::Value;

use super::binding_json;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{BAD, Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let bindings: Vec<ChannelBinding> = org.list(&["bindings"], &[], usize::MAX).await?;
    if args.output.json {
        let all: Vec<Value> = bindings
            .iter()
            .map(|bound| {
                let mut json = binding_json(bound);
                json["failing_since"] = bound.failing_since.map(rfc3339).into();
                json["failure"] = bound.failure.clone().into();
                json
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if bindings.is_empty() {
        anstream::println!("{} has no channels yet", org.org.name);
        let add = format!("ostler channel add webchat --org {}", org.org.slug);
        print_next([NextCommand::new(add, "")]);
        return Ok(());
    }
    let header = ["name", "channel", "state", "agent", "priority", "binding", ""];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(bindings.iter().map(|bound| {
        let (state, why) = state(bound);
        [
            bound.name.as_str().into(),
            bound.channel.to_string().into(),
            state,
            bound.agent_slug.as_str().into(),
            bound.priority.to_string().into(),
            Cell::id(&bound.binding),
            why,
        ]
    }));
    print_rows(&rows);
    Ok(())
}

/// Returns whether a channel works, and why not.
fn state(bound: &ChannelBinding) -> (Cell, Cell) {
    if !bound.enabled {
        return (Cell::styled("off", DIM), Cell::default());
    }
    match (&bound.error, &bound.failure) {
        (Some(why), _) if bound.lacks_secret => {
            (Cell::styled("no secret", WARNING), Cell::styled(why.as_str(), WARNING))
        }
        (Some(why), _) => (Cell::styled("error", BAD), Cell::styled(why.as_str(), BAD)),
        (None, Some(failure)) => {
            let since = bound.failing_since.map(format_time).unwrap_or_default();
            let why = format!("since {since}: {failure}");
            (Cell::styled("failing", BAD), Cell::styled(why, BAD))
        }
        (None, None) => (Cell::styled("on", GOOD), Cell::default()),
    }
}
