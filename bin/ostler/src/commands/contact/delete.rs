//! `ostler contact delete`.

use clap::Args;
use ostler_domain::id::ContactId;
use ostler_domain::org::Org;
use ostler_runtime::operations::Person;
use ostler_store::{PersonalDataCounts, PersonalDataKind};

use super::ContactArgs;
use crate::commands::args::OutputArgs;
use crate::commands::operator::Operator;
use crate::screen::{Cell, HEADER, print_rows, thousands};

#[derive(Debug, Args)]
pub(crate) struct ContactDeleteArgs {
    #[command(flatten)]
    contact: ContactArgs,
    /// Delete the data; this cannot be undone
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &ContactDeleteArgs) -> anyhow::Result<()> {
    let (operator, org) = super::open(&args.contact).await?;
    let counts = if args.yes {
        delete(&operator, &org, &args.contact.contact).await?
    } else {
        let operations = operator.org(&org);
        let person = operations.find_person(&args.contact.contact).await?;
        operations.export_person(&person).await?.count().await?
    };
    if args.output.json {
        return crate::commands::print_json(&counts);
    }
    print(&counts);
    if !args.yes {
        anstream::println!("\nnothing was deleted; add --yes to delete it for good");
    } else if !counts.is_empty() {
        anstream::println!("\ndeleted");
    }
    Ok(())
}

/// Deletes a person. A contact that is named by its id may be deleted already.
async fn delete(operator: &Operator, org: &Org, name: &str) -> anyhow::Result<PersonalDataCounts> {
    let operations = operator.org(org);
    if let Ok(id) = name.parse::<ContactId>() {
        return Ok(operations.delete_contact(id).await?);
    }
    Ok(match operations.find_person(name).await? {
        Person::Contact(stored) => operations.delete_contact(stored.contact.id).await?,
        Person::Visitor(visitor) => operations.delete_visitor(&visitor).await?,
    })
}

/// Prints how much of each kind is stored or was deleted.
pub(super) fn print(counts: &PersonalDataCounts) {
    if counts.is_empty() {
        return anstream::println!("nothing is left; it was deleted before");
    }
    let mut rows = vec![["data", "count"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(counts.iter().map(|(kind, count)| [name(*kind).into(), thousands(*count).into()]));
    print_rows(&rows);
}

const fn name(kind: PersonalDataKind) -> &'static str {
    match kind {
        PersonalDataKind::Contact => "contact",
        PersonalDataKind::Conversation => "conversations",
        PersonalDataKind::Inbound => "received messages",
        PersonalDataKind::Outbound => "sent messages",
        PersonalDataKind::Checkpoint => "unfinished turns",
        PersonalDataKind::Call => "tool calls",
        PersonalDataKind::Session => "sessions",
        PersonalDataKind::Message => "thread messages",
        PersonalDataKind::Note => "notes about sessions",
        PersonalDataKind::Run => "runs",
        PersonalDataKind::Approval => "approvals",
        PersonalDataKind::Event => "events",
        PersonalDataKind::Notice => "notices",
        PersonalDataKind::File => "files",
        PersonalDataKind::Record => "orders, bookings, answers",
        PersonalDataKind::Workflow => "workflows",
    }
}
