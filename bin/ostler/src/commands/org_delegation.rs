//! `ostler org-delegation`: work that an agency gives its clients, and the platform an agency.

use clap::{Args, Subcommand};
use ostler_api::hierarchy::{CompleteRequest, DelegateRequest, Exchanged};
use ostler_domain::hierarchy::Importance;
use ostler_domain::hierarchy::delegation::{
    OrgDelegation, OrgDelegationAnswer, OrgDelegationStatus,
};
use serde_json::{Value, json};

use super::args::{OrgArgs, parse_text};
use super::exchange::{LIST_LIMIT, find, print_fields};
use super::operator::print_result;
use super::session::view::format_time;
use crate::api_client::{OrgApi, open_org};
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum OrgDelegationCommand {
    /// List the work that an org gave or received, newest first
    #[command(after_help = "\
Examples:
  ostler org-delegation ls --org bella
  ostler org-delegation ls --open --org harbour --json")]
    Ls(OrgDelegationLsArgs),
    /// Show work with its result
    #[command(after_help = "\
Examples:
  ostler org-delegation show …7ybc --org bella")]
    Show(OrgDelegationArgs),
    /// Give work to a client; the platform gives it to an agency
    #[command(after_help = "\
Examples:
  ostler org-delegation create \"Put the new menu online\" --to bella \\
      --org harbour
  ostler org-delegation create \"Review the prices\" --to harbour --org ostler \\
      --priority high")]
    Create(OrgDelegationCreateArgs),
    /// Accept received work
    #[command(after_help = "\
Examples:
  ostler org-delegation accept …7ybc --org bella")]
    Accept(OrgDelegationArgs),
    /// Report the result of accepted work
    #[command(after_help = "\
Examples:
  ostler org-delegation complete …7ybc \"The menu is online\" --org bella")]
    Complete(OrgDelegationCompleteArgs),
    /// Reject received work
    #[command(after_help = "\
Examples:
  ostler org-delegation reject …7ybc --org bella")]
    Reject(OrgDelegationArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OrgDelegationLsArgs {
    /// Only work that is neither completed nor rejected
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OrgDelegationArgs {
    /// Work, by id or its end
    #[arg(value_name = "DELEGATION")]
    delegation: String,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OrgDelegationCreateArgs {
    /// What the PM of the org should do
    #[arg(value_name = "INSTRUCTION", value_parser = parse_text)]
    instruction: String,
    /// Org that gets the work, by slug
    #[arg(long, value_name = "SLUG")]
    to: String,
    /// Priority: low, medium or high
    #[arg(long, default_value = "medium")]
    priority: Importance,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OrgDelegationCompleteArgs {
    /// Work, by id or its end
    #[arg(value_name = "DELEGATION")]
    delegation: String,
    /// What was done
    #[arg(value_name = "RESULT", value_parser = parse_text)]
    result: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &OrgDelegationCommand) -> anyhow::Result<()> {
    match command {
        OrgDelegationCommand::Ls(args) => list(args).await,
        OrgDelegationCommand::Show(args) => show(args).await,
        OrgDelegationCommand::Create(args) => create(args).await,
        OrgDelegationCommand::Accept(OrgDelegationArgs { delegation, target }) => {
            answer(delegation, target, OrgDelegationAnswer::Accept, "accepted").await
        }
        OrgDelegationCommand::Complete(args) => {
            let answered = OrgDelegationAnswer::Complete(args.result.clone());
            answer(&args.delegation, &args.target, answered, "completed").await
        }
        OrgDelegationCommand::Reject(OrgDelegationArgs { delegation, target }) => {
            answer(delegation, target, OrgDelegationAnswer::Reject, "rejected").await
        }
    }
}

async fn all(org: &OrgApi) -> anyhow::Result<Vec<Exchanged<OrgDelegation>>> {
    org.list(&["org-delegations"], &[], LIST_LIMIT).await
}

async fn list(args: &OrgDelegationLsArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let mut all = all(&org).await?;
    all.retain(|one| !args.open || one.record.is_open());
    if args.target.output.json {
        return super::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("{} has neither given nor received work", org.org.name);
        return Ok(());
    }
    let header = ["delegation", "since", "from", "direction", "priority", "instruction", "status"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|one| {
        let OrgDelegation { sender, priority, instruction, target, .. } = &one.record;
        let direction = if *target == org.org.id { "received" } else { "given" };
        [
            Cell::id(&one.id),
            Cell::whole(format_time(one.created_at)),
            sender.as_str().into(),
            direction.into(),
            priority.name().into(),
            instruction.as_str().into(),
            status(&one.record.status).into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}

const fn status(status: &OrgDelegationStatus) -> &'static str {
    match status {
        OrgDelegationStatus::Pending => "pending",
        OrgDelegationStatus::Accepted => "accepted",
        OrgDelegationStatus::Completed { .. } => "completed",
        OrgDelegationStatus::Rejected => "rejected",
    }
}

async fn show(args: &OrgDelegationArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let all = all(&org).await?;
    let one = find(&all, &args.delegation, "delegation")?;
    if args.target.output.json {
        return super::print_json(one);
    }
    let result = match &one.record.status {
        OrgDelegationStatus::Completed { result, .. } => result.clone(),
        _ => String::new(),
    };
    print_fields(&[
        ("delegation", one.id.to_string()),
        ("since", format_time(one.created_at)),
        ("from", one.record.sender.clone()),
        ("instruction", one.record.instruction.clone()),
        ("priority", one.record.priority.name().to_owned()),
        ("status", status(&one.record.status).to_owned()),
        ("result", result),
    ]);
    Ok(())
}

async fn create(args: &OrgDelegationCreateArgs) -> anyhow::Result<()> {
    let OrgDelegationCreateArgs { instruction, to, priority, target } = args;
    let org = open_org(target).await?;
    let (to_org, instruction) = (to.clone(), instruction.clone());
    let request = DelegateRequest { to: to_org, instruction, priority: Some(*priority) };
    let made: Exchanged<OrgDelegation> = org.post(&["org-delegations"], &request).await?;
    let id = made.id;
    let json = json!({"delegation": id, "to": to, "status": "pending"});
    print_result(&target.output, &json, &format!("{to} has the work {id}"))
}

async fn answer(
    name: &str,
    target: &OrgArgs,
    answer: OrgDelegationAnswer,
    done: &str,
) -> anyhow::Result<()> {
    let org = open_org(target).await?;
    let id = find(&all(&org).await?, name, "delegation")?.id;
    let name = id.to_string();
    let path = |verb| ["org-delegations", name.as_str(), verb];
    let _: Value = match answer {
        OrgDelegationAnswer::Accept => org.post(&path("accept"), &()).await?,
        OrgDelegationAnswer::Reject => org.post(&path("reject"), &()).await?,
        OrgDelegationAnswer::Complete(result) => {
            org.post(&path("complete"), &CompleteRequest { result }).await?
        }
    };
    let json = json!({"delegation": id, "status": done});
    print_result(&target.output, &json, &format!("{done} {id}"))
}
