//! `ostler contact ls`.

use clap::Args;
use ostler_api::contact::{ContactEntry, Person, Visitor};
use serde_json::Value;

use super::person_json;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct ContactLsArgs {
    /// Only people whose name, address, number, identifier or tag contains this
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Most contacts, and most visitors, to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ContactLsArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let search: Vec<_> = args.search.as_deref().map(|text| ("search", text)).into_iter().collect();
    let limit = args.limit as usize;
    let contacts: Vec<ContactEntry> = org.list(&["contacts"], &search, limit).await?;
    let visitors: Vec<Visitor> = org.list(&["visitors"], &search, limit).await?;
    let contacts = contacts.into_iter().map(Person::Contact);
    let people: Vec<Person> = contacts.chain(visitors.into_iter().map(Person::Visitor)).collect();
    if args.target.output.json {
        let all: Vec<Value> = people.iter().map(person_json).collect();
        return crate::commands::print_json(&all);
    }
    if people.is_empty() {
        anstream::println!("nobody like that has written to {}", org.org.name);
        return Ok(());
    }
    let header = ["name", "e-mail", "phone", "id"].map(|text| Cell::styled(text, HEADER));
    let mut rows = vec![header];
    rows.extend(people.iter().map(|person| match person {
        Person::Contact(stored) => {
            let (contact, details) = (&stored.contact, &stored.contact.details);
            [
                contact.name.as_str().into(),
                details.email.clone().unwrap_or_default().into(),
                details.phone.clone().unwrap_or_default().into(),
                Cell::id(&contact.id),
            ]
        }
        Person::Visitor(visitor) => [
            Cell::styled(visitor.reference(), DIM),
            "".into(),
            "".into(),
            Cell::styled("visitor", DIM),
        ],
    }));
    print_rows(&rows);
    Ok(())
}
