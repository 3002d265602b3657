//! `ostler outcome`: calls of which nobody knows what became.

use serde_json::json;

use super::{open, say};
use crate::cli::operate::{In, Outcome};
use crate::commands::session::view::clock;
use crate::screen::{Cell, HEADER, QUIET, print_rows};

/// How many are listed.
const LISTED: u32 = 100;

pub(crate) async fn run(command: &Outcome) -> anyhow::Result<()> {
    match command {
        Outcome::Ls(place) => ls(place).await,
        Outcome::Resolve(resolve) => {
            let (desk, org) = open(&resolve.place).await?;
            desk.office(&org).resolve_unknown(resolve.call, &resolve.outcome).await?;
            let done = json!({"call": resolve.call, "outcome": resolve.outcome});
            let words = format!("{} is known; the agent goes on with that", resolve.call);
            say(&resolve.place.output, &done, &words)
        }
    }
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let calls = desk.office(&org).unknown_calls(None, LISTED).await?;
    if place.output.json {
        let all: Vec<_> = calls
            .iter()
            .map(|one| {
                json!({"call": one.intent.call, "tool": one.intent.tool,
                    "arguments": one.intent.arguments, "conversation": one.conversation,
                    "run": one.run, "at": one.intended_at})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let Some(first) = calls.first() else {
        anstream::println!("it is known what became of every call in {}", org.name);
        return Ok(());
    };
    let header = ["call", "what was called", "since", "run"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(calls.iter().map(|one| {
        [
            one.intent.call.to_string().into(),
            super::in_words(&one.intent.tool, &one.intent.arguments).into(),
            clock(one.intended_at).into(),
            one.run.to_string().into(),
        ]
    }));
    print_rows(&rows);
    anstream::println!(
        "\n{QUIET}next{QUIET:#}  find out what became of it, and say it:\n      ostler outcome \
         resolve {} \"It was done once.\" --org {}",
        first.intent.call,
        org.slug
    );
    Ok(())
}
