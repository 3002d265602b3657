//! `ostler dead-letter ls`.

use ostler_server::wire;
use ostler_store::DeadLetterKind;

use super::{LIST_LIMIT, format_id};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, NextCommand, print_next, print_paragraph, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let dead_letters = operator.org(&org).dead_letters(None, LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = dead_letters.iter().map(wire::dead_letter).collect();
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
            Cell::id(&format_id(dead_letter.id)),
            fault(dead_letter.kind).into(),
            dead_letter.attempts.to_string().into(),
            Cell::whole(format_time(dead_letter.failed_at)),
            dead_letter.reason.as_str().into(),
        ]
    }));
    print_rows(&rows);
    let (first, slug) = (format_id(dead_letters[0].id), &org.slug);
    print_next([
        NextCommand::new(format!("ostler dead-letter replay {first} --org {slug}"), ""),
        NextCommand::new(
            format!("ostler dead-letter abandon {first} --org {slug} --reason \"…\""),
            "",
        ),
    ]);
    if dead_letters.iter().any(|dead_letter| dead_letter.kind == DeadLetterKind::Unknown) {
        let note =
            "messages whose outcome is unknown may have arrived; a replay can deliver them twice";
        print_paragraph(note, DIM);
    }
    Ok(())
}

const fn fault(kind: DeadLetterKind) -> &'static str {
    match kind {
        DeadLetterKind::Dead => "failed",
        DeadLetterKind::Unknown => "outcome unknown",
    }
}
