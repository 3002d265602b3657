//! `ostler contact delete`.

use std::hash::{BuildHasher as _, RandomState};
use std::time::SystemTime;

use clap::Args;
use ostler_domain::audit::AuditActor;
use ostler_domain::id::AuditId;
use ostler_store::{PersonalDataCounts, PersonalDataKind};

use super::ContactArgs;
use crate::commands::args::OutputArgs;
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
    let (store, org) = super::open(&args.contact).await?;
    let (org, contact) = (store.org(org), args.contact.contact);
    let counts = if args.yes {
        org.erase_contact(contact, AuditActor::System, new_audit_id()?).await?
    } else {
        org.export_contact(contact).count().await?
    };
    if args.output.json {
        return crate::commands::print_json(&counts);
    }
    print(&counts);
    if !args.yes {
        anstream::println!("\nnothing was deleted; add --yes to delete it for good");
    }
    Ok(())
}

fn print(counts: &PersonalDataCounts) {
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
        PersonalDataKind::Run => "runs",
        PersonalDataKind::Approval => "approvals",
        PersonalDataKind::Event => "events",
        PersonalDataKind::Notice => "notices",
        PersonalDataKind::File => "files",
    }
}

/// Returns a new id for the audit line, in the form of a UUID v7.
fn new_audit_id() -> anyhow::Result<AuditId> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis();
    let random = u128::from(RandomState::new().hash_one(now));
    Ok(AuditId::from_u128(now << 80 | 0x7 << 76 | 0b10 << 62 | random >> 2))
}
