//! `ostler contact show`.

use clap::Args;
use ostler_api::contact::{Person, PersonDetail};
use serde_json::json;

use super::{ContactArgs, person_json};
use crate::commands::args::OutputArgs;
use crate::commands::contact::delete::{self, ByKind};
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, count, print_fields};

#[derive(Debug, Args)]
pub(crate) struct ContactShowArgs {
    #[command(flatten)]
    contact: ContactArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &ContactShowArgs) -> anyhow::Result<()> {
    let org = super::open(&args.contact).await?;
    let found: PersonDetail = org.get(&["people", &args.contact.contact]).await?;
    let PersonDetail { person, identifiers, sessions, credits, stored } = found;
    if args.output.json {
        let mut json = person_json(&person);
        json["identifiers"] = json!(identifiers);
        json["stored"] = json!(stored.as_deref().map(ByKind));
        json["credits"] = json!(credits);
        json["interactions"] = sessions
            .iter()
            .map(|one| {
                json!({"session": one.id, "at": rfc3339(one.opened_at), "channel": one.channel,
                    "messages": one.messages, "credits": one.spent, "summary": one.summary})
            })
            .collect();
        return crate::commands::print_json(&json);
    }
    let mut rows: Vec<[Cell; 2]> = Vec::new();
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            rows.push([format!("  {name}").into(), text.into()]);
        }
    };
    match &person {
        Person::Contact(stored) => {
            let contact = &stored.contact;
            anstream::println!("{HEADER}{}{HEADER:#}  {}", contact.name, contact.id);
            add("e-mail", contact.details.email.clone().unwrap_or_default());
            add("phone", contact.details.phone.clone().unwrap_or_default());
            add("language", contact.locale.clone().unwrap_or_default());
            add("tags", contact.tags.iter().cloned().collect::<Vec<_>>().join(", "));
            contact.notes.iter().for_each(|note| add("note", note.clone()));
        }
        Person::Visitor(visitor) => {
            anstream::println!("{HEADER}{}{HEADER:#}  a visitor, no contact", visitor.reference());
            add("name", sessions.iter().find_map(|one| one.name.clone()).unwrap_or_default());
        }
    }
    for one in &identifiers {
        add(one.channel.name(), one.identifier.clone());
    }
    if !sessions.is_empty() {
        let what = "for the answers in all conversations";
        add("cost", format!("{} {what}", count(credits.get(), "credit")));
    }
    for one in &sessions {
        let about = one.summary.clone().unwrap_or_default();
        let spent = count(one.spent.get(), "credit");
        let counted = format!("{} messages on {}, {spent}", one.messages, one.channel);
        let line = [format_time(one.opened_at), counted, about].join("  ");
        add("conversation", line.trim_end().to_owned());
    }
    print_fields(&rows);
    if let Some(stored) = &stored {
        anstream::println!();
        delete::print(stored);
    }
    Ok(())
}
