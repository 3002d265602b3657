//! `ostler session note`.

use clap::Args;
use ostler_api::session_work::{NoteRequest, NoteResponse, SessionWork};
use serde_json::json;

use super::view::format_time;
use super::{SessionArgs, open_session};
use crate::api_client::person_name;
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
    let (org, session) = open_session(&args.session).await?;
    let (id, output) = (session.id, &args.session.output);
    let key = id.to_string();
    if let Some(text) = &args.text {
        let note = NoteRequest { text: text.clone() };
        let NoteResponse { id: note } = org.post(&["sessions", &key, "notes"], &note).await?;
        return print_result(output, &json!({"session": id, "note": note}), "noted");
    }
    let SessionWork { notes, .. } = org.get(&["sessions", &key, "work"]).await?;
    if output.json {
        return crate::commands::print_json(&notes);
    }
    if notes.is_empty() {
        anstream::println!("no notes; add one with `ostler session note {id} \"…\"`");
        return Ok(());
    }
    let names = org.names().await?;
    let header = ["time", "by", "note"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(notes.iter().map(|note| {
        [
            Cell::whole(format_time(note.created_at)),
            person_name(&names, note.author).into(),
            note.text.as_str().into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
