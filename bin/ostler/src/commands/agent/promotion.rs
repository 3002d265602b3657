//! `ostler agent promotion`: other autonomy levels that measured figures call for.

use clap::{Args, Subcommand};
use ostler_api::hierarchy::{AgentFigures, RejectProposalRequest};
use ostler_api::page::Page;
use ostler_domain::agent::autonomy::TrackRecord;
use ostler_domain::agent::growth::LevelProposal;

use crate::api_client;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum PromotionCommand {
    /// List the autonomy levels that wait for the owner's decision
    #[command(after_help = "\
Examples:
  ostler agent promotion ls --org nordlicht")]
    Ls(OrgArgs),
    /// Measure the agents now and propose other levels where the figures call for them
    #[command(after_help = "\
Examples:
  ostler agent promotion review --org nordlicht --json")]
    Review(OrgArgs),
    /// Give an agent the proposed level
    #[command(after_help = "\
Examples:
  ostler agent promotion approve support --org nordlicht")]
    Approve(PromotionArgs),
    /// Leave an agent at its level; none is proposed for a month
    #[command(after_help = "\
Examples:
  ostler agent promotion reject support --org nordlicht \\
      --reason \"after the season\"")]
    Reject(RejectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PromotionArgs {
    /// Agent, by slug
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    promotion: PromotionArgs,
    /// Why it is rejected
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn run(command: &PromotionCommand) -> anyhow::Result<()> {
    match command {
        PromotionCommand::Ls(args) => ls(args).await,
        PromotionCommand::Review(args) => review(args).await,
        PromotionCommand::Approve(args) => approve(args).await,
        PromotionCommand::Reject(args) => reject(args).await,
    }
}

async fn ls(args: &OrgArgs) -> anyhow::Result<()> {
    let org = api_client::open_org(args).await?;
    let waiting: Vec<LevelProposal> = org.list(&["promotions"], &[], usize::MAX).await?;
    if args.output.json {
        return crate::commands::print_json(&waiting);
    }
    if waiting.is_empty() {
        anstream::println!("no autonomy level waits for a decision in {}", org.org.name);
        return Ok(());
    }
    let names = org.agent_names().await?;
    let header = ["agent", "from", "to", "conversations", "corrected", "escalated", "made"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(waiting.iter().map(
        |LevelProposal { agent, from, to, record, made_at, .. }| {
            [
                names.get(*agent).into(),
                from.name().into(),
                to.name().into(),
                record.conversations.to_string().into(),
                record.corrected.to_string().into(),
                record.escalated.to_string().into(),
                Cell::whole(format_time(*made_at)),
            ]
        },
    ));
    print_rows(&rows);
    print_next([NextCommand::new(
        format!("ostler agent promotion approve AGENT --org {}", org.org.slug),
        "",
    )]);
    Ok(())
}

async fn review(args: &OrgArgs) -> anyhow::Result<()> {
    let org = api_client::open_org(args).await?;
    let measured: Page<AgentFigures> = org.post(&["promotions", "review"], &()).await?;
    if args.output.json {
        return crate::commands::print_json(&measured.items);
    }
    let names = org.agent_names().await?;
    for AgentFigures { agent, figures } in measured.items {
        let TrackRecord { conversations, corrected, escalated, .. } = figures;
        anstream::println!(
            "{}: {conversations} conversations, {corrected} corrected, {escalated} escalated",
            names.get(agent)
        );
    }
    let list = format!("ostler agent promotion ls --org {}", org.org.slug);
    print_next([NextCommand::new(list, "")]);
    Ok(())
}

async fn approve(args: &PromotionArgs) -> anyhow::Result<()> {
    let org = api_client::open_org(&args.target).await?;
    let made: LevelProposal = org.post(&["promotions", &args.agent, "approve"], &()).await?;
    let text = format!("{} is {} now", args.agent, made.to);
    print_result(&args.target.output, &serde_json::to_value(&made)?, &text)
}

async fn reject(args: &RejectArgs) -> anyhow::Result<()> {
    let PromotionArgs { agent, target } = &args.promotion;
    let org = api_client::open_org(target).await?;
    let request = RejectProposalRequest { reason: args.reason.clone() };
    let made: LevelProposal = org.post(&["promotions", agent, "reject"], &request).await?;
    let text = format!("{agent} stays {}", made.from);
    print_result(&target.output, &serde_json::to_value(&made)?, &text)
}
