//! `ostler issue`: issues that agents sent one business layer up.

use clap::{Args, Subcommand};
use ostler_api::hierarchy::{Exchanged, ResolveIssueRequest};
use ostler_api::org::OrgSummary;
use ostler_domain::hierarchy::Importance;
use ostler_domain::hierarchy::issue::{Issue, IssueDecision, IssueStatus};
use ostler_domain::id::OrgId;
use serde_json::{Value, json};

use super::args::{OrgArgs, parse_text};
use super::exchange::{LIST_LIMIT, direction, find, print_fields};
use super::operator::print_result;
use super::session::view::format_time;
use crate::api_client::{OrgApi, open_org};
use crate::screen::{BAD, Cell, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum IssueCommand {
    /// List the issues that an org sent or received, newest first
    #[command(after_help = "\
Examples:
  ostler issue ls --org bella
  ostler issue ls --open --org harbour
  ostler issue ls --org bella --json")]
    Ls(IssueLsArgs),
    /// Show an issue with the digest of its conversation
    #[command(after_help = "\
Examples:
  ostler issue show rec_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler issue show …7ybc --org bella --json")]
    Show(IssueArgs),
    /// Acknowledge an issue: somebody works on it
    #[command(after_help = "\
Examples:
  ostler issue acknowledge …7ybc --org bella")]
    Acknowledge(IssueArgs),
    /// Resolve an acknowledged issue and tell the agent that sent it
    #[command(after_help = "\
Examples:
  ostler issue resolve …7ybc \"Refund 10 euros\" --org bella")]
    Resolve(IssueResolveArgs),
    /// Dismiss an acknowledged issue: nothing will be done
    #[command(after_help = "\
Examples:
  ostler issue dismiss …7ybc --org bella")]
    Dismiss(IssueArgs),
}

#[derive(Debug, Args)]
pub(crate) struct IssueLsArgs {
    /// Only issues that are neither resolved nor dismissed
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IssueArgs {
    /// Issue, by id or its end
    #[arg(value_name = "ISSUE")]
    issue: String,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IssueResolveArgs {
    /// Issue, by id or its end
    #[arg(value_name = "ISSUE")]
    issue: String,
    /// What was decided, for the agent that sent the issue
    #[arg(value_name = "RESOLUTION", value_parser = parse_text)]
    resolution: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &IssueCommand) -> anyhow::Result<()> {
    match command {
        IssueCommand::Ls(args) => list(args).await,
        IssueCommand::Show(args) => show(args).await,
        IssueCommand::Acknowledge(IssueArgs { issue, target }) => {
            decide(issue, target, IssueDecision::Acknowledge, "acknowledged").await
        }
        IssueCommand::Resolve(IssueResolveArgs { issue, resolution, target }) => {
            decide(issue, target, IssueDecision::Resolve(resolution.clone()), "resolved").await
        }
        IssueCommand::Dismiss(IssueArgs { issue, target }) => {
            decide(issue, target, IssueDecision::Dismiss, "dismissed").await
        }
    }
}

async fn all(org: &OrgApi) -> anyhow::Result<Vec<Exchanged<Issue>>> {
    org.list(&["issues"], &[], LIST_LIMIT).await
}

async fn list(args: &IssueLsArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let mut all = all(&org).await?;
    all.retain(|one| !args.open || one.record.is_open());
    if args.target.output.json {
        return super::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("{} has no issues", org.org.name);
        return Ok(());
    }
    let header = ["issue", "since", "from", "to", "severity", "summary", "status"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|one| {
        let Issue { severity, summary, sender, .. } = &one.record;
        let name = severity.name();
        [
            Cell::id(&one.id),
            Cell::whole(format_time(one.created_at)),
            sender.as_str().into(),
            receiver(&one.record, org.org.id).into(),
            if *severity == Importance::High { Cell::styled(name, BAD) } else { name.into() },
            summary.as_str().into(),
            status(&one.record.status).into(),
        ]
    }));
    print_rows(&rows);
    if let Some(next) = next_command(&all, &org.org) {
        print_next([NextCommand::new(next, "")]);
    }
    Ok(())
}

fn next_command(all: &[Exchanged<Issue>], org: &OrgSummary) -> Option<String> {
    let received = |one: &&Exchanged<Issue>| one.record.target.org == org.id;
    let open = all.iter().filter(received).find(|one| one.record.is_open())?;
    let verb = match open.record.status {
        IssueStatus::Pending => "acknowledge",
        _ => "resolve",
    };
    let text = if verb == "resolve" { " \"…\"" } else { "" };
    Some(format!("ostler issue {verb} {}{text} --org {}", open.id, org.slug))
}

/// Returns who received an issue: this org's PM, or the layer above.
fn receiver(issue: &Issue, org: OrgId) -> String {
    let layer = issue.target.business_layer.name();
    direction(issue.target.org == org, layer)
}

const fn status(status: &IssueStatus) -> &'static str {
    match status {
        IssueStatus::Pending => "pending",
        IssueStatus::Acknowledged => "acknowledged",
        IssueStatus::Resolved { .. } => "resolved",
        IssueStatus::Dismissed { .. } => "dismissed",
    }
}

async fn show(args: &IssueArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let all = all(&org).await?;
    let one = find(&all, &args.issue, "issue")?;
    if args.target.output.json {
        return super::print_json(one);
    }
    let Issue { sender, summary, severity, context, session, routed_by, .. } = &one.record;
    let resolution = match &one.record.status {
        IssueStatus::Resolved { resolution, .. } => resolution.clone(),
        _ => String::new(),
    };
    print_fields(&[
        ("issue", one.id.to_string()),
        ("since", format_time(one.created_at)),
        ("from", sender.clone()),
        ("to", receiver(&one.record, org.org.id)),
        ("summary", summary.clone()),
        ("severity", severity.name().to_owned()),
        ("status", status(&one.record.status).to_owned()),
        ("resolution", resolution),
        ("session", session.map(|id| id.to_string()).unwrap_or_default()),
        ("routed by", routed_by.map(|party| party.agent.to_string()).unwrap_or_default()),
    ]);
    if !context.is_empty() {
        anstream::println!("\n{context}");
    }
    Ok(())
}

async fn decide(
    name: &str,
    target: &OrgArgs,
    decision: IssueDecision,
    done: &str,
) -> anyhow::Result<()> {
    let org = open_org(target).await?;
    let id = find(&all(&org).await?, name, "issue")?.id;
    let name = id.to_string();
    let path = |verb| ["issues", name.as_str(), verb];
    let _: Value = match decision {
        IssueDecision::Acknowledge => org.post(&path("acknowledge"), &()).await?,
        IssueDecision::Dismiss => org.post(&path("dismiss"), &()).await?,
        IssueDecision::Resolve(resolution) => {
            org.post(&path("resolve"), &ResolveIssueRequest { resolution }).await?
        }
    };
    print_result(&target.output, &json!({"issue": id, "status": done}), &format!("{done} {id}"))
}
