//! `ostler dead-letter ls`.

use ostler_api::dead_letter::{DeadLetter, DeadLetterFault};

use super::LIST_LIMIT;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, NextCommand, print_next, print_paragraph, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let dead_letters: Vec<DeadLetter> = org.list(&["dead-letters"], &[], LIST_LIMIT).await?;
    if args.output.json {
        return crate::commands::print_json(&dead_letters);
    }
    let org = org.org;
    if dead_letters.is_empty() {
        anstream::println!("no dead letters in {}", org.name);
        return Ok(());
    }
    let header = ["message", "fault", "attempts", "since", "reason"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(dead_letters.iter().map(|dead_letter| {
        [
            Cell::id(&dead_letter.id),
            fault(dead_letter.fault).into(),
            dead_letter.attempts.to_string().into(),
            Cell::whole(format_time(dead_letter.at)),
            dead_letter.reason.as_str().into(),
        ]
    }));
    print_rows(&rows);
    let (first, slug) = (&dead_letters[0].id, &org.slug);
    print_next([
        NextCommand::new(format!("ostler dead-letter replay {first} --org {slug}"), ""),
        NextCommand::new(
            format!("ostler dead-letter abandon {first} --org {slug} --reason \"…\""),
            "",
        ),
    ]);
    if dead_letters.iter().any(|dead_letter| dead_letter.fault == DeadLetterFault::OutcomeUnknown) {
        let note =
            "messages whose outcome is unknown may have arrived; a replay can deliver them twice";
        print_paragraph(note, DIM);
    }
    Ok(())
}

const fn fault(kind: DeadLetterFault) -> &'static str {
    match kind {
        DeadLetterFault::Dead => "failed",
        DeadLetterFault::OutcomeUnknown => "outcome unknown",
    }
}
