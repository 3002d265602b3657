//! `ostler session search`.

use clap::Args;
use ostler_server::wire;
use serde_json::json;

use super::view::{contact_name, format_time};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::screen::{Cell, HEADER, print_rows};

/// The most messages that are listed.
const LIMIT: u32 = 50;

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words or their beginnings; a message has them all
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &SearchArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let (operations, words) = (operator.org(&org), args.words.join(" "));
    let (mut found, mut next) = operations.search_messages(&words, None, LIMIT).await?;
    while found.len() < LIMIT as usize && next.is_some() {
        let (more, after) = operations.search_messages(&words, next, LIMIT).await?;
        found.extend(more);
        next = after;
    }
    if args.target.output.json {
        let all: Vec<_> = found
            .iter()
            .map(|one| {
                json!({"session": one.session.id, "seq": one.seq,
                    "message": wire::message(&one.message)})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if found.is_empty() {
        anstream::println!("no message has these words");
        return Ok(());
    }
    let header = ["session", "contact", "time", "message"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(found.iter().map(|one| {
        [
            Cell::id(&one.session.id),
            contact_name(&one.session).into(),
            Cell::whole(format_time(one.message.at)),
            one.excerpt.as_str().into(),
        ]
    }));
    print_rows(&rows);
    if next.is_some() {
        anstream::println!("\nThere are more; add a word.");
    }
    Ok(())
}
