//! `ostler member`: the people of an org.

mod accept;
mod add;
mod invite;
mod ls;
mod remove;
mod set;

use clap::Subcommand;
use ostler_api::org;
use ostler_store::Member;
use serde_json::{Value, json};

use super::args::OrgArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// List the members of an org and who is invited
    #[command(after_help = "\
Examples:
  ostler member ls --org bella
  ostler member ls --org bella --json")]
    Ls(OrgArgs),
    /// Add a person to an org
    #[command(after_help = "\
Examples:
  ostler member add ada@example.com --name \"Ada Rossi\" --role operator \\
      --org bella")]
    Add(add::MemberAddArgs),
    /// Change the role of a member
    #[command(after_help = "\
Examples:
  ostler member set ada@example.com --role admin --org bella
  ostler member set \"Ada Rossi\" --role viewer --org bella")]
    Set(set::MemberSetArgs),
    /// Remove a member, or withdraw an invitation
    #[command(after_help = "\
Examples:
  ostler member remove ada@example.com --org bella")]
    Remove(remove::MemberRemoveArgs),
    /// Invite a person; prints a code that works once
    #[command(after_help = "\
Examples:
  ostler member invite tom@example.com --role operator --org bella
  ostler member invite tom@example.com --role viewer --days 2 --org bella")]
    Invite(invite::MemberInviteArgs),
    /// Accept an invitation with its code
    #[command(after_help = "\
Examples:
  ostler member accept osi_5f3c… --name \"Tom Weber\"")]
    Accept(accept::MemberAcceptArgs),
}

pub(crate) async fn run(command: &MemberCommand) -> anyhow::Result<()> {
    match command {
        MemberCommand::Ls(args) => ls::run(args).await,
        MemberCommand::Add(args) => add::run(args).await,
        MemberCommand::Set(args) => set::run(args).await,
        MemberCommand::Remove(args) => remove::run(args).await,
        MemberCommand::Invite(args) => invite::run(args).await,
        MemberCommand::Accept(args) => accept::run(args).await,
    }
}

fn member_json(member: &Member) -> Value {
    let Member { user, role } = member;
    json!({"state": "member", "id": user.id, "email": user.email, "name": user.name, "role": role})
}

/// Returns a member of the HTTP API as JSON.
fn wire_member_json(member: &org::Member) -> Value {
    let org::Member { user, name, email, role } = member;
    json!({"state": "member", "id": user, "email": email, "name": name, "role": role})
}
