//! `ostler approval`: tool calls that wait for a person.

mod approve;
mod ls;
mod reject;
mod show;

use anyhow::bail;
use clap::Subcommand;
use ostler_domain::id::ApprovalId;
use ostler_domain::org::Org;
use ostler_server::wire;
use ostler_store::{DecisionState, StoredApproval};

use super::args::{OrgsArgs, match_id};
use super::operator::Operator;
use ostler_runtime::delivery::notices::text::format_call;

use crate::refused_command::NotHere;

/// The most approvals that are listed.
const LIST_LIMIT: u32 = 100;

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
fn print_decision(decided: &StoredApproval, json: bool, text: &str) -> anyhow::Result<()> {
    if json {
        return super::print_json(&wire::approval(decided));
    }
    anstream::println!("{} {}  {text}", decided.approval.id, call(decided));
    Ok(())
}

/// Formats the call that an approval is about.
fn call(stored: &StoredApproval) -> String {
    format_call(stored.approval.tool.as_str(), &stored.payload)
}

/// Finds a pending approval by its id or the end of it; the error lists what is
/// pending.
async fn find_pending(operator: &Operator, org: &Org, text: &str) -> anyhow::Result<ApprovalId> {
    let pending = operator.org(org).approvals(DecisionState::Pending, None, LIST_LIMIT).await?;
    let known: Vec<ApprovalId> = pending.iter().map(|stored| stored.approval.id).collect();
    if let Some(id) = match_id(text, &known)? {
        return Ok(id);
    }
    // One that is decided already; the operation says so.
    if let Ok(id) = text.parse()
        && operator.org(org).approval(id).await.is_ok()
    {
        return Ok(id);
    }
    if pending.is_empty() {
        bail!(NotHere(format!("no approval {text} in {}; none is pending there", org.name)));
    }
    let each: Vec<String> = pending
        .iter()
        .map(|stored| format!("\n  {}  {}", stored.approval.id, call(stored)))
        .collect();
    bail!(NotHere(format!("no approval {text} in {}; pending here:{}", org.name, each.concat())))
}
