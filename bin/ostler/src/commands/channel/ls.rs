//! `ostler channel ls`.

use ostler_channels::error::OpenError;
use ostler_runtime::channel_binding::binding_config;
use ostler_runtime::shared_bot::shared_bot;
use ostler_store::OrgBinding;
use serde_json::Value;

use super::binding_json;
use crate::app;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{BAD, Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_next, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let bindings = operator.org(&org).bindings().await?;
    let failures = operator.org(&org).binding_failures().await?;
    let channels = app::channels(&operator.installation)?;
    // The platform's own binding shows whether its bot can be opened.
    let open_error = |bound: &OrgBinding| match shared_bot(bound) {
        Some(_) => None,
        None => channels.open(&binding_config(org.id, bound)).err(),
    };
    if args.output.json {
        let all: Vec<Value> = bindings
            .iter()
            .map(|bound| {
                let mut json = binding_json(&operator, &org, bound, open_error(bound).as_ref());
                let failure = failures.iter().find(|one| one.binding == bound.binding.id);
                json["failing_since"] = failure.map(|one| rfc3339(one.since)).into();
                json["failure"] = failure.map(|one| one.reason.clone()).into();
                json
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let slug = &org.slug;
    if bindings.is_empty() {
        anstream::println!("{} has no channels yet", org.name);
        print_next([NextCommand::new(format!("ostler channel add webchat --org {slug}"), "")]);
        return Ok(());
    }
    let header = ["name", "channel", "state", "agent", "priority", "binding", ""];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    for bound in &bindings {
        let agent = operator.store.org(org.id).agent(bound.agent).await?.slug;
        let (state, why) = match (bound.binding.enabled, open_error(bound)) {
            (false, _) => (Cell::styled("off", DIM), Cell::default()),
            (true, None) => match failures.iter().find(|one| one.binding == bound.binding.id) {
                Some(failure) => {
                    let since = format_time(failure.since);
                    let why = format!("since {since}: {}", failure.reason);
                    (Cell::styled("failing", BAD), Cell::styled(why, BAD))
                }
                None => (Cell::styled("on", GOOD), Cell::default()),
            },
            (true, Some(why @ OpenError::UnreadableSecret { .. })) => {
                (Cell::styled("no secret", WARNING), Cell::styled(why.to_string(), WARNING))
            }
            (true, Some(why)) => (Cell::styled("error", BAD), Cell::styled(why.to_string(), BAD)),
        };
        let binding = &bound.binding;
        rows.push([
            binding.name().into(),
            binding.channel.to_string().into(),
            state,
            agent.into(),
            binding.priority.to_string().into(),
            Cell::id(&binding.id),
            why,
        ]);
    }
    print_rows(&rows);
    Ok(())
}
