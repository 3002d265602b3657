//! `ostler insight`: what agents of clients have learned and shared with their agency.

use clap::{Args, Subcommand};
use ostler_api::hierarchy::Exchanged;
use ostler_domain::hierarchy::insight::Insight;
use serde_json::{Value, json};

use super::args::OrgArgs;
use super::exchange::{LIST_LIMIT, find, print_fields};
use super::operator::print_result;
use super::rfc3339;
use super::session::view::format_time;
use crate::api_client::{OrgApi, open_org};
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum InsightCommand {
    /// List the insights that an org shared or received, newest first
    #[command(after_help = "\
Examples:
  ostler insight ls --org harbour
  ostler insight ls --new --org harbour --json")]
    Ls(InsightLsArgs),
    /// Show an insight with its evidence
    #[command(after_help = "\
Examples:
  ostler insight show …7ybc --org harbour")]
    Show(InsightArgs),
    /// Acknowledge a received insight
    #[command(after_help = "\
Examples:
  ostler insight acknowledge …7ybc --org harbour")]
    Acknowledge(InsightArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InsightLsArgs {
    /// Only insights that nobody has acknowledged
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InsightArgs {
    /// Insight, by id or its end
    #[arg(value_name = "INSIGHT")]
    insight: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &InsightCommand) -> anyhow::Result<()> {
    match command {
        InsightCommand::Ls(args) => list(args).await,
        InsightCommand::Show(args) => show(args).await,
        InsightCommand::Acknowledge(args) => acknowledge(args).await,
    }
}

async fn all(org: &OrgApi) -> anyhow::Result<Vec<Exchanged<Insight>>> {
    org.list(&["insights"], &[], LIST_LIMIT).await
}

async fn list(args: &InsightLsArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let mut all = all(&org).await?;
    all.retain(|one| !args.new || one.record.acknowledged_at.is_none());
    if args.target.output.json {
        return super::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("{} has no insights", org.org.name);
        return Ok(());
    }
    let header = ["insight", "since", "from", "category", "text", "acknowledged"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|one| {
        let acknowledged = one.record.acknowledged_at.map(format_time).unwrap_or_default();
        [
            Cell::id(&one.id),
            Cell::whole(format_time(one.created_at)),
            one.record.sender.as_str().into(),
            one.record.category.name().into(),
            one.record.insight.as_str().into(),
            Cell::whole(acknowledged),
        ]
    }));
    print_rows(&rows);
    Ok(())
}

async fn show(args: &InsightArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let all = all(&org).await?;
    let one = find(&all, &args.insight, "insight")?;
    if args.target.output.json {
        return super::print_json(one);
    }
    print_fields(&[
        ("insight", one.id.to_string()),
        ("since", format_time(one.created_at)),
        ("from", one.record.sender.clone()),
        ("category", one.record.category.name().to_owned()),
        ("text", one.record.insight.clone()),
        ("evidence", one.record.evidence.clone().unwrap_or_default()),
        ("acknowledged", one.record.acknowledged_at.map(rfc3339).unwrap_or_default()),
    ]);
    Ok(())
}

async fn acknowledge(args: &InsightArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&all(&org).await?, &args.insight, "insight")?.id;
    let path = ["insights", &id.to_string(), "acknowledge"];
    org.post::<Value>(&path, &()).await?;
    let json = json!({"insight": id, "acknowledged": true});
    print_result(&args.target.output, &json, &format!("acknowledged {id}"))
}
