//! `ostler dead-letter ls`.

use ostler_store::DeadLetterKind;
use serde_json::json;

use super::format_id;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};
/// The most dead letters that are listed.
const LIST_LIMIT: u32 = 100;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let dead_letters = operator.org(&org).dead_letters(None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = dead_letters
            .iter()
            .map(|dead_letter| {
                json!({"id": format_id(dead_letter.id), "conversation": dead_letter.conversation,
                    "payload": dead_letter.payload, "reason": dead_letter.reason, "attempts": dead_letter.attempts,
                    "at": dead_letter.failed_at, "fault": format!("{:?}", dead_letter.kind).to_lowercase()})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if dead_letters.is_empty() {
        anstream::println!("no dead letters in {}", org.name);
        return Ok(());
    }
    let header = ["message", "fault", "attempts", "since", "reason"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(dead_letters.iter().map(|dead_letter| {
        [
            format_id(dead_letter.id).into(),
            format!("{:?}", dead_letter.kind).to_lowercase().into(),
            dead_letter.attempts.to_string().into(),
            format_time(dead_letter.failed_at).into(),
            dead_letter.reason.as_str().into(),
        ]
    }));
    print_rows(&rows);
    let (first, slug) = (format_id(dead_letters[0].id), &org.slug);
    anstream::println!(
        "\n{DIM}next{DIM:#}  ostler dead-letter replay {first} --org {slug}\n      ostler dead-letter \
         abandon {first} --org {slug} --reason \"…\""
    );
    if dead_letters.iter().any(|dead_letter| dead_letter.kind == DeadLetterKind::Unknown) {
        anstream::println!(
            "{DIM}      messages with the fault `unknown` may have arrived; a replay can deliver them twice{DIM:#}"
        );
    }
    Ok(())
}
