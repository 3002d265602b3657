//! `ostler deadletter`: messages that could not be answered or sent.

use anyhow::bail;
use ostler_store::{Fault, LetterId};
use serde_json::json;

use super::{open, say};
use crate::cli::operate::{Deadletter, In};
use crate::commands::session::view::clock;
use crate::screen::{Cell, HEADER, QUIET, print_rows};

/// How many are listed.
const LISTED: u32 = 100;

pub(crate) async fn run(command: &Deadletter) -> anyhow::Result<()> {
    match command {
        Deadletter::Ls(place) => ls(place).await,
        Deadletter::Replay(letter) => {
            let (desk, org) = open(&letter.place).await?;
            let id = named(&letter.letter)?;
            desk.office(&org).replay_dead_letter(id).await?;
            let done = json!({"id": written(id), "done": "replayed"});
            say(&letter.place.output, &done, &format!("{} is tried again", letter.letter))
        }
        Deadletter::Abandon(abandon) => {
            let (desk, org) = open(&abandon.letter.place).await?;
            let id = named(&abandon.letter.letter)?;
            desk.office(&org).abandon_dead_letter(id, &abandon.reason).await?;
            let done = json!({"id": written(id), "done": "abandoned"});
            let words = format!("{} is laid aside", abandon.letter.letter);
            say(&abandon.letter.place.output, &done, &words)
        }
    }
}

fn named(text: &str) -> anyhow::Result<LetterId> {
    if let Ok(id) = text.parse() {
        return Ok(LetterId::Inbox(id));
    }
    if let Ok(id) = text.parse() {
        return Ok(LetterId::Outbox(id));
    }
    bail!("`{text}` is not the id of a message; one begins with inb_ or out_")
}

fn written(id: LetterId) -> String {
    match id {
        LetterId::Inbox(id) => id.to_string(),
        LetterId::Outbox(id) => id.to_string(),
    }
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let letters = desk.office(&org).dead_letters(None, LISTED).await?;
    if place.output.json {
        let all: Vec<_> = letters
            .iter()
            .map(|one| {
                json!({"id": written(one.id), "conversation": one.conversation,
                    "payload": one.payload, "reason": one.reason, "attempts": one.attempts,
                    "at": one.at, "fault": format!("{:?}", one.fault).to_lowercase()})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if letters.is_empty() {
        anstream::println!("no dead letters in {}", org.name);
        return Ok(());
    }
    let header = ["message", "fault", "tries", "since", "why"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(letters.iter().map(|one| {
        [
            written(one.id).into(),
            format!("{:?}", one.fault).to_lowercase().into(),
            one.attempts.to_string().into(),
            clock(one.at).into(),
            one.reason.as_str().into(),
        ]
    }));
    print_rows(&rows);
    let (first, slug) = (written(letters[0].id), &org.slug);
    anstream::println!(
        "\n{QUIET}next{QUIET:#}  ostler deadletter replay {first} --org {slug}\n      ostler deadletter \
         abandon {first} --org {slug} --reason \"…\""
    );
    if letters.iter().any(|one| one.fault == Fault::Unknown) {
        anstream::println!(
            "{QUIET}      what is unknown may have arrived: tried again, it may arrive twice{QUIET:#}"
        );
    }
    Ok(())
}
