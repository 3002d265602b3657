//! `ostler contact delete`.

use clap::Args;
use ostler_api::contact::{PersonalData, StoredData};
use serde::{Serialize, Serializer};

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
    let (org, name) = (super::open(&args.contact).await?, args.contact.contact.as_str());
    let PersonalData { items } = if args.yes {
        org.delete(&["people", name]).await?
    } else {
        org.get(&["people", name, "stored-data"]).await?
    };
    if args.output.json {
        return crate::commands::print_json(&ByKind(&items));
    }
    print(&items);
    if !args.yes {
        anstream::println!("\nnothing was deleted; add --yes to delete it for good");
    } else if !items.is_empty() {
        anstream::println!("\ndeleted");
    }
    Ok(())
}

/// The counts as an object with a field for each kind.
pub(super) struct ByKind<'a>(pub(super) &'a [StoredData]);

impl Serialize for ByKind<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|one| (&one.kind, one.count)))
    }
}

/// Prints how much of each kind is stored or was deleted.
pub(super) fn print(items: &[StoredData]) {
    if items.is_empty() {
        return anstream::println!("nothing is left; it was deleted before");
    }
    let mut rows = vec![["data", "count"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(items.iter().map(|one| [name(&one.kind).into(), thousands(one.count).into()]));
    print_rows(&rows);
}

/// Returns the words for a kind.
fn name(kind: &str) -> &str {
    match kind {
        "conversation" => "conversations",
        "inbound" => "received messages",
        "outbound" => "sent messages",
        "checkpoint" => "unfinished turns",
        "call" => "tool calls",
        "session" => "sessions",
        "message" => "thread messages",
        "note" => "notes about sessions",
        "run" => "runs",
        "approval" => "approvals",
        "event" => "events",
        "notice" => "notices",
        "file" => "files",
        "record" => "orders, bookings, answers",
        "workflow" => "workflows",
        other => other,
    }
}
