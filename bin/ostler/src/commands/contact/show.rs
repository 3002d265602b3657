//! `ostler contact show`.

use clap::Args;
use ostler_runtime::operations::Person;
use serde_json::json;

use super::{ContactArgs, person_json};
use crate::commands::args::OutputArgs;
use crate::commands::contact::delete;
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
    let (operator, org) = super::open(&args.contact).await?;
    let operations = operator.org(&org);
    let person = operations.find_person_by_beginning(&args.contact.contact).await?;
    let counts = operations.export_person(&person).await?.count().await?;
    let interactions = operations.interactions(&person).await?;
    let credits = operations.credits_of(&person).await?;
    let identifiers = match &person {
        Person::Contact(stored) => operations.contact_summary(stored.clone()).await?.identifiers,
        Person::Visitor(visitor) => vec![(visitor.channel.clone(), visitor.identifier.clone())],
    };
    if args.output.json {
        let mut json = person_json(&person);
        json["identifiers"] = identifiers
            .iter()
            .map(|(channel, identifier)| json!({"channel": channel, "identifier": identifier}))
            .collect();
        json["stored"] = json!(counts);
        json["credits"] = json!(credits);
        json["interactions"] = interactions
            .iter()
            .map(|one| {
                json!({"session": one.id, "at": rfc3339(one.opened_at), "channel": one.channel,
                    "messages": one.messages, "credits": one.budget.spent,
                    "summary": one.summary})
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
        Person::Visitor(_) => {
            anstream::println!("{HEADER}{}{HEADER:#}  a visitor, no contact", person.reference());
            add("name", interactions.iter().find_map(|one| one.name.clone()).unwrap_or_default());
        }
    }
    for (channel, identifier) in &identifiers {
        add(channel.name(), identifier.clone());
    }
    if !interactions.is_empty() {
        let what = "for the answers in all conversations";
        add("cost", format!("{} {what}", count(credits.get(), "credit")));
    }
    for one in &interactions {
        let about = one.summary.clone().unwrap_or_default();
        let spent = count(one.budget.spent.get(), "credit");
        let counted = format!("{} messages on {}, {spent}", one.messages, one.channel);
        let line = [format_time(one.opened_at), counted, about].join("  ");
        add("conversation", line.trim_end().to_owned());
    }
    print_fields(&rows);
    anstream::println!();
    delete::print(&counts);
    Ok(())
}
