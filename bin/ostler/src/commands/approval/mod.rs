//! `ostler approval`: tool calls that wait for a person.

mod approve;
mod ls;
mod reject;
mod show;

use clap::Subcommand;
use ostler_api::approval::Approval;
use ostler_api::names::ActorNames;
use ostler_api::session::SessionDetail;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::{ApprovalId, SessionId};
use ostler_domain::session::key::Peer;
use ostler_runtime::delivery::notices::text::format_call;

use super::args::{OrgsArgs, match_id};
use crate::api_client::{OrgApi, not_here, person_name};

/// The most approvals that are listed.
const LIST_LIMIT: usize = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalCommand {
    /// List the tool calls that wait for a person
    #[command(after_help = "\
Examples:
  ostler approval ls
  ostler approval ls --org bella --json")]
    Ls(OrgsArgs),
    /// Show a call that waits, the rule by which it asks, who set it, and what would allow it
    #[command(after_help = "\
Examples:
  ostler approval show apr_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler approval show …7ybc --org bella --json")]
    Show(show::ShowArgs),
    /// Let a call run once, if the current policies still allow it
    #[command(after_help = "\
Examples:
  ostler approval approve apr_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler approval approve …7ybc --org bella --now
  ostler approval approve …7ybc --org bella \\
      --with '{\"order\": \"1234\", \"amount\": \"5.00\", \"reason\": \"half of it\"}'")]
    Approve(approve::ApproveArgs),
    /// Reject a call; the agent learns the reason
    #[command(after_help = "\
Examples:
  ostler approval reject apr_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella \\
      --reason \"it was eaten\"")]
    Reject(reject::RejectArgs),
}

pub(crate) async fn run(command: &ApprovalCommand) -> anyhow::Result<()> {
    match command {
        ApprovalCommand::Ls(args) => ls::run(args).await,
        ApprovalCommand::Show(args) => show::run(args).await,
        ApprovalCommand::Approve(args) => approve::run(args).await,
        ApprovalCommand::Reject(args) => reject::run(args).await,
    }
}

/// Prints a decided approval.
fn print_decision(decided: &Approval, json: bool, text: &str) -> anyhow::Result<()> {
    if json {
        return super::print_json(decided);
    }
    anstream::println!("{} {}  {text}", decided.id, call(decided));
    Ok(())
}

/// Formats the call that an approval is about.
fn call(approval: &Approval) -> String {
    format_call(approval.tool.as_str(), &approval.arguments.to_string())
}

/// Describes whose conversation a call was asked in.
async fn describe_customer(org: &OrgApi, session: SessionId) -> anyhow::Result<String> {
    let detail: SessionDetail = org.get(&["sessions", &session.to_string()]).await?;
    let session = detail.session;
    let (Peer::Person(identifier) | Peer::Group(identifier)) = &session.peer;
    let name = session.name.as_deref().unwrap_or(identifier);
    let known = if session.contact.is_some() { "" } else { ", no known contact" };
    Ok(format!("{name} on {}{known}", session.channel))
}

/// Describes the state of an approval, and who decided.
fn describe_state(status: &ApprovalStatus, names: &ActorNames) -> String {
    let name = |user| person_name(names, user);
    match status {
        ApprovalStatus::Pending => "waits for a person".to_owned(),
        ApprovalStatus::Approved { by } => {
            format!("approved by {}, the call is not made yet", name(*by))
        }
        ApprovalStatus::Used { by, .. } => format!("approved by {}, the call was made", name(*by)),
        ApprovalStatus::Rejected { by, reason } => format!("rejected by {}: {reason}", name(*by)),
        ApprovalStatus::Expired { approved_by: Some(by) } => {
            format!("approved by {}, expired before the call was made", name(*by))
        }
        ApprovalStatus::Expired { approved_by: None } => "expired, nobody decided".to_owned(),
        ApprovalStatus::Withdrawn => "ended with its session".to_owned(),
    }
}

/// Finds an approval by its id or the end of it, first among those that wait; the error lists
/// what is pending.
async fn find_approval(org: &OrgApi, text: &str) -> anyhow::Result<ApprovalId> {
    let pending: Vec<Approval> = org.list(&["approvals"], &[], LIST_LIMIT).await?;
    let mut known: Vec<ApprovalId> = pending.iter().map(|approval| approval.id).collect();
    let mut found = match_id(text, &known)?;
    for which in ["approved", "used", "rejected", "expired", "withdrawn"] {
        if found.is_some() {
            break;
        }
        let ended: Vec<Approval> =
            org.list(&["approvals"], &[("which", which)], LIST_LIMIT).await?;
        known = ended.iter().map(|approval| approval.id).collect();
        found = match_id(text, &known)?;
    }
    if let Some(id) = found {
        // One that is decided already is no pending one; the operation says so.
        let is_there = known.contains(&id)
            || org.get::<Approval>(&["approvals", &id.to_string()]).await.is_ok();
        if is_there {
            return Ok(id);
        }
    }
    let name = &org.org.name;
    if pending.is_empty() {
        return Err(not_here(format!("no approval {text} in {name}; none is pending there")));
    }
    let each: Vec<String> =
        pending.iter().map(|approval| format!("\n  {}  {}", approval.id, call(approval))).collect();
    Err(not_here(format!("no approval {text} in {name}; pending here:{}", each.concat())))
}
