//! `ostler approval`: tool calls that wait for a person.

mod approve;
mod ls;
mod reject;

use anyhow::bail;
use clap::Subcommand;
use ostler_domain::id::ApprovalId;
use ostler_domain::org::Org;
use ostler_store::{DecisionState, StoredApproval};
use serde_json::{Value, json};

use super::args::{OrgArgs, match_id};
use super::operator::Operator;
use super::rfc3339;
use ostler_runtime::delivery::notices::text::format_call;

/// The most approvals that are listed.
const LIST_LIMIT: u32 = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalCommand {
    /// List the tool calls that wait for a person
    #[command(after_help = "\
Examples:
  ostler approval ls --org bella
  ostler approval ls --org bella --json")]
    Ls(OrgArgs),
    /// Let a call run once, if the current policies still allow it
    #[command(after_help = "\
Examples:
  ostler approval approve apr_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler approval approve …7ybc --org bella --with '{\"order\": \"1234\", \"amount\": \"5.00\", \"reason\": \"half of it\"}'")]
    Approve(approve::ApproveArgs),
    /// Reject a call; the agent learns the reason
    #[command(after_help = "\
Examples:
  ostler approval reject apr_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --reason \"it was eaten\"")]
    Reject(reject::RejectArgs),
}

pub(crate) async fn run(command: &ApprovalCommand) -> anyhow::Result<()> {
    match command {
        ApprovalCommand::Ls(args) => ls::run(args).await,
        ApprovalCommand::Approve(args) => approve::run(args).await,
        ApprovalCommand::Reject(args) => reject::run(args).await,
    }
}

/// Prints a decided approval.
fn print_decision(decided: &StoredApproval, json: bool, text: &str) -> anyhow::Result<()> {
    if json {
        return super::print_json(&approval_json(decided));
    }
    anstream::println!("{} {}  {text}", decided.approval.id, call(decided));
    Ok(())
}

/// Returns an approval for programs, with the arguments as data.
fn approval_json(stored: &StoredApproval) -> Value {
    let approval = &stored.approval;
    let arguments: Value = serde_json::from_str(&stored.payload).unwrap_or_default();
    let mut json = json!(approval.status);
    let fields = json!({"id": approval.id, "session": approval.session, "agent": approval.agent,
        "tool": approval.tool, "arguments": arguments, "risk": approval.risk.level(),
        "why": approval.ask_reason, "requested_at": rfc3339(approval.requested_at),
        "expires_at": rfc3339(approval.expires_at)});
    if let (Some(json), Value::Object(fields)) = (json.as_object_mut(), fields) {
        json.extend(fields);
    }
    json
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
    if let Some(id) = match_id(text, &known) {
        return Ok(id);
    }
    // One that is decided already; the operation says so.
    if let Ok(id) = text.parse()
        && operator.org(org).approval(id).await.is_ok()
    {
        return Ok(id);
    }
    if pending.is_empty() {
        bail!("no approval {text} in {}; none is pending there", org.name);
    }
    let each: Vec<String> = pending
        .iter()
        .map(|stored| format!("\n  {}  {}", stored.approval.id, call(stored)))
        .collect();
    bail!("no approval {text} in {}; pending here:{}", org.name, each.concat())
}
