//! `ostler contact delete`: deletes all that an org keeps of a contact, or says
//! what that is.

use std::hash::{BuildHasher as _, RandomState};
use std::time::SystemTime;

use ostler_domain::audit::Actor;
use ostler_domain::id::AuditId;
use ostler_store::{Personal, PersonalCounts};

use crate::cli::ContactDelete;
use crate::screen::{Cell, HEADER, print_rows, thousands};

pub(crate) async fn run(command: &ContactDelete) -> anyhow::Result<()> {
    let (store, org) = super::open(&command.of).await?;
    let (org, contact) = (store.org(org), command.of.contact);
    let counts = if command.yes {
        org.erase_contact(contact, Actor::System, new_line()?).await?
    } else {
        org.export_contact(contact).count().await?
    };
    if command.output.json {
        return super::super::print_json(&counts);
    }
    print(&counts);
    if !command.yes {
        anstream::println!("\nnothing was deleted; with --yes it is, and cannot be brought back");
    }
    Ok(())
}

fn print(counts: &PersonalCounts) {
    if counts.is_empty() {
        return anstream::println!("all of it had been deleted before");
    }
    let mut rows = vec![["kept", "how many"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(counts.iter().map(|(kind, count)| [name(*kind).into(), thousands(*count).into()]));
    print_rows(&rows);
}

const fn name(kind: Personal) -> &'static str {
    match kind {
        Personal::Contact => "contact",
        Personal::Conversation => "conversations",
        Personal::Inbound => "messages from them",
        Personal::Outbound => "messages to them",
        Personal::Checkpoint => "unfinished turns",
        Personal::Call => "calls of tools",
        Personal::Session => "sessions",
        Personal::Message => "messages in threads",
        Personal::Run => "runs",
        Personal::Approval => "approvals",
        Personal::Event => "events",
        Personal::Notice => "notices",
        Personal::File => "files",
    }
}

/// An id for the audit line, in the form of a UUID v7: the time, and chance.
fn new_line() -> anyhow::Result<AuditId> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis();
    let chance = u128::from(RandomState::new().hash_one(now));
    Ok(AuditId::from_u128(now << 80 | 0x7 << 76 | 0b10 << 62 | chance >> 2))
}
