//! `ostler session search`.

use clap::Args;
use ostler_api::session_work::FoundMessage;

use super::view::format_time;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::{Cell, HEADER, print_rows};

/// The most messages that are listed.
const LIMIT: usize = 50;

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words or their beginnings; a message has them all
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &SearchArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let words = args.words.join(" ");
    let found: Vec<FoundMessage> = org.list(&["messages"], &[("words", &words)], LIMIT).await?;
    if args.target.output.json {
        return crate::commands::print_json(&found);
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
            one.session.contact_name().into(),
            Cell::whole(format_time(one.message.at)),
            one.excerpt.as_str().into(),
        ]
    }));
    print_rows(&rows);
    if found.len() == LIMIT {
        anstream::println!("\nThere may be more; add a word.");
    }
    Ok(())
}
