//! `ostler contact`: the people who write to an org, and everything stored about them.

mod delete;
mod export;
mod link;
mod ls;
mod merge;
mod show;

use clap::{Args, Subcommand};
use ostler_api::contact::Person;
use serde_json::{Value, json};

use super::args::InstallationArgs;
use super::rfc3339;
use crate::api_client::{ApiClient, OrgApi};
use crate::config::keys;

#[derive(Debug, Subcommand)]
pub(crate) enum ContactCommand {
    /// List contacts, and visitors who are no contacts yet
    #[command(after_help = "\
Examples:
  ostler contact ls --org bella
  ostler contact ls --org bella --search rosa --json")]
    Ls(ls::ContactLsArgs),
    /// Show a contact with its identifiers and conversations
    #[command(after_help = "\
Examples:
  ostler contact show rosa@example.com --org bella")]
    Show(show::ContactShowArgs),
    /// Say which contact a visitor is, so that agents show the person's own orders
    #[command(after_help = "\
Examples:
  ostler contact link webchat:kim kim@example.com --org nordlicht

Be sure who it is: agents then answer the visitor about the contact's orders, bookings and
other records. The link is in the audit log.")]
    Link(link::ContactLinkArgs),
    /// Merge two contacts of one person: the second becomes part of the first
    #[command(after_help = "\
Examples:
  ostler contact merge rosa@example.com \"+39 06 1234\" --org bella")]
    Merge(merge::ContactMergeArgs),
    /// Write everything that an org stores about a person as one JSON document
    #[command(after_help = "\
Examples:
  ostler contact export rosa@example.com --org bella
  ostler contact export con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella \\
      --out rosa.json --files rosa")]
    Export(export::ContactExportArgs),
    /// Delete everything that an org stores about a person; without --yes, only count it
    #[command(after_help = "\
Examples:
  ostler contact delete \"Rosa Bianchi\" --org bella
  ostler contact delete webchat:v_5f3c --org bella --yes")]
    Delete(delete::ContactDeleteArgs),
}

/// The person that a command works on.
#[derive(Debug, Args)]
pub(crate) struct ContactArgs {
    /// Contact or visitor, by name, e-mail address, phone number, identifier on a
    /// channel, or id
    #[arg(value_name = "CONTACT")]
    contact: String,
    /// Org, by slug or id [default: the only one beside the platform]
    #[arg(
        long,
        value_name = "ORG",
        env = keys::ORG,
        default_value = "",
        hide_default_value = true
    )]
    org: String,
    #[command(flatten)]
    installation: InstallationArgs,
}

pub(crate) async fn run(command: &ContactCommand) -> anyhow::Result<()> {
    match command {
        ContactCommand::Ls(args) => ls::run(args).await,
        ContactCommand::Show(args) => show::run(args).await,
        ContactCommand::Link(args) => link::run(args).await,
        ContactCommand::Merge(args) => merge::run(args).await,
        ContactCommand::Export(args) => export::run(args).await,
        ContactCommand::Delete(args) => delete::run(args).await,
    }
}

/// Opens the installation or server and finds the org that the arguments name.
async fn open(args: &ContactArgs) -> anyhow::Result<OrgApi> {
    ApiClient::open(&args.installation).await?.find_org(&args.org).await
}

fn person_json(person: &Person) -> Value {
    match person {
        Person::Contact(stored) => {
            let contact = &stored.contact;
            json!({"kind": "contact", "id": contact.id, "name": contact.name,
                "email": contact.details.email, "phone": contact.details.phone,
                "locale": contact.locale, "tags": contact.tags, "notes": contact.notes,
                "created_at": rfc3339(stored.created_at), "updated_at": rfc3339(stored.updated_at)})
        }
        Person::Visitor(visitor) => json!({"kind": "visitor", "channel": visitor.channel,
            "identifier": visitor.identifier, "conversation": visitor.conversation}),
    }
}
