//! `ostler session note`.

use clap::Args;
use ostler_domain::id::UserId;
use serde_json::json;

use super::view::format_time;
use super::{SessionArgs, open_session};
use crate::commands::args::parse_text;
use crate::commands::operator::print_result;
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Text of a new note
    #[arg(value_name = "TEXT", value_parser = parse_text)]
    text: Option<String>,
}

pub(super) async fn run(args: &NoteArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_session(&args.session).await?;
    let operations = operator.org(&org);
    let output = &args.session.output;
    if let Some(text) = &args.text {
        let note = operations.add_note(id, text).await?;
        return print_result(output, &json!({"session": id, "note": note}), "noted");
    }
    let notes = operations.session_work(id).await?.notes;
    let names = operations.actor_names().await?.people;
    let author =
        |user: &UserId| names.get(user).cloned().unwrap_or_else(|| "the terminal".to_owned());
    if output.json {
        let all: Vec<_> = notes
            .iter()
            .map(|note| {
                json!({"id": note.id, "author": note.author, "text": note.text,
                    "created_at": crate::commands::rfc3339(note.created_at)})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if notes.is_empty() {
        anstream::println!("no notes; add one with `ostler session note {id} \"…\"`");
        return Ok(());
    }
    let header = ["time", "by", "note"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(notes.iter().map(|note| {
        [
            Cell::whole(format_time(note.created_at)),
            author(&note.author).into(),
            note.text.as_str().into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
