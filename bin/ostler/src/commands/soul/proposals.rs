//! `ostler soul propose` and `ostler soul proposals`: changes of souls that wait for a
//! decision.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ostler_api::hierarchy::{NewSoulProposal, RejectProposalRequest, SoulProposal, SoulReflection};
use ostler_api::page::Page;
use ostler_domain::id::ProposalId;
use ostler_domain::soul::SoulVersion;
use ostler_domain::soul::proposal::{ProposalAuthor, ProposalStatus};
use serde_json::{Value, json};

use super::{SoulArgs, changes, document, print_changes};
use crate::api_client::{AgentNames, OrgApi, not_here, open_org};
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::print_result;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

/// The most proposals that are listed.
const LIST_LIMIT: &str = "100";

#[derive(Debug, Args)]
pub(crate) struct ProposeArgs {
    #[command(flatten)]
    soul: SoulArgs,
    /// SOUL.md with the proposed soul
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Why the change helps
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProposalsCommand {
    /// List the proposals that wait for a decision
    #[command(after_help = "\
Examples:
  ostler soul proposals ls --org nordlicht
  ostler soul proposals ls --org nordlicht --state applied --json")]
    Ls(LsArgs),
    /// Show what a proposal changes
    #[command(after_help = "\
Examples:
  ostler soul proposals show …7ybc --org nordlicht")]
    Show(ProposalArgs),
    /// Approve a proposal: it becomes the next version of the soul
    #[command(after_help = "\
Examples:
  ostler soul proposals approve …7ybc --org nordlicht")]
    Approve(ProposalArgs),
    /// Reject a proposal; the agent that made it proposes nothing for a day
    #[command(after_help = "\
Examples:
  ostler soul proposals reject …7ybc --org nordlicht --reason \"we stay formal\"")]
    Reject(RejectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// State of the proposals
    #[arg(long, value_enum, default_value_t = ProposalState::Pending)]
    state: ProposalState,
    #[command(flatten)]
    target: OrgArgs,
}

/// The state of a proposal.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProposalState {
    Pending,
    Applied,
    Rejected,
    Expired,
    /// The soul was changed otherwise meanwhile
    Superseded,
}

#[derive(Debug, Args)]
pub(crate) struct ProposalArgs {
    /// Proposal, by id or the end of it
    #[arg(value_name = "PROPOSAL")]
    proposal: String,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    proposal: ProposalArgs,
    /// Why it is rejected
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn propose(args: &ProposeArgs) -> anyhow::Result<()> {
    let soul = document::read(&args.file)?;
    let target = &args.soul.target;
    let org = open_org(target).await?;
    let (agent, reason) = (args.soul.agent.clone(), args.reason.clone());
    let new = NewSoulProposal { agent, soul, reason };
    let made: SoulProposal = org.post(&["soul-proposals"], &new).await?;
    let (id, slug) = (made.proposal.id, &org.org.slug);
    let text = format!("{id} waits for a decision: `ostler soul proposals show {id} --org {slug}`");
    print_result(&target.output, &serde_json::to_value(&made)?, &text)
}

pub(super) async fn reflect(args: &SoulArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let path = ["agents", &args.agent, "soul", "reflect"];
    let SoulReflection { proposal, reason, looked_back } = &org.post(&path, &()).await?;
    let text = match proposal {
        None if *looked_back => format!("no change is proposed: {reason}"),
        None => format!("{reason}: nothing to learn from"),
        Some(made) => {
            let (id, slug) = (made.proposal.id, &org.org.slug);
            format!(
                "{id} waits for a decision: {reason}\n`ostler soul proposals show {id} --org {slug}`"
            )
        }
    };
    let json = json!({"proposal": proposal, "reason": reason});
    print_result(&args.target.output, &json, &text)
}

pub(super) async fn run(command: &ProposalsCommand) -> anyhow::Result<()> {
    match command {
        ProposalsCommand::Ls(args) => ls(args).await,
        ProposalsCommand::Show(args) => show(args).await,
        ProposalsCommand::Approve(args) => approve(args).await,
        ProposalsCommand::Reject(args) => reject(args).await,
    }
}

async fn ls(args: &LsArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let state = args.state.to_possible_value();
    let state = state.as_ref().map_or("pending", |value| value.get_name());
    let found = in_state(&org, state).await?;
    if args.target.output.json {
        return crate::commands::print_json(&found);
    }
    if found.is_empty() {
        anstream::println!("no such proposal in {}", org.org.name);
        return Ok(());
    }
    let names = org.agent_names().await?;
    let header = ["proposal", "agent", "by", "why", "made", "expires"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(found.iter().map(|SoulProposal { proposal, author, .. }| {
        [
            Cell::id(&proposal.id).with_style(WARNING),
            names.get(proposal.target).into(),
            author_name(*author, &names).into(),
            proposal.reason.clone().into(),
            Cell::whole(format_time(proposal.made_at)),
            Cell::whole(format_time(proposal.expires_at)),
        ]
    }));
    print_rows(&rows);
    let first = found[0].proposal.id;
    print_next([NextCommand::new(
        format!("ostler soul proposals show {first} --org {}", org.org.slug),
        "",
    )]);
    Ok(())
}

fn author_name(author: ProposalAuthor, names: &AgentNames) -> String {
    match author {
        ProposalAuthor::Agent(id) => names.get(id),
        ProposalAuthor::Reflection(id) => format!("{}, looking back", names.get(id)),
        ProposalAuthor::Person(_) => "a person".to_owned(),
    }
}

async fn show(args: &ProposalArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.proposal).await?;
    let mut shown: SoulProposal = org.get(&["soul-proposals", &id.to_string()]).await?;
    let before = shown.soul_before.take().unwrap_or_default();
    let changes = changes(&before, &shown.proposal.soul);
    if args.target.output.json {
        let mut json = serde_json::to_value(&shown)?;
        json["changes"] = Value::Array(changes);
        return crate::commands::print_json(&json);
    }
    let names = org.agent_names().await?;
    let (proposal, slug) = (&shown.proposal, &org.org.slug);
    let current_version = shown.current_version.unwrap_or(proposal.base_version);
    anstream::println!(
        "{HEADER}{id}{HEADER:#}  {} (version {}), by {}: {}",
        names.get(proposal.target),
        proposal.base_version,
        author_name(shown.author, &names),
        proposal.reason,
    );
    print_changes(&changes);
    match &proposal.status {
        ProposalStatus::Pending if proposal.base_version != current_version => {
            anstream::println!("the soul is at version {current_version} now; propose it again");
        }
        ProposalStatus::Pending => print_next([
            NextCommand::new(format!("ostler soul proposals approve {id} --org {slug}"), ""),
            NextCommand::new(
                format!("ostler soul proposals reject {id} --org {slug} --reason …"),
                "",
            ),
        ]),
        ProposalStatus::Approved { .. } => anstream::println!("approved"),
        ProposalStatus::Applied { after, .. } => anstream::println!("applied as version {after}"),
        ProposalStatus::Rejected { reason, .. } => anstream::println!("rejected: {reason}"),
        ProposalStatus::Expired => anstream::println!("expired; nobody decided in time"),
        ProposalStatus::Superseded => anstream::println!("superseded by another change"),
    }
    Ok(())
}

async fn approve(args: &ProposalArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.proposal).await?;
    let path = ["soul-proposals", &id.to_string(), "approve"];
    let version: SoulVersion = org.post(&path, &()).await?;
    let text = format!("{id} is approved: version {} of the soul", version.version);
    print_result(&args.target.output, &serde_json::to_value(&version)?, &text)
}

async fn reject(args: &RejectArgs) -> anyhow::Result<()> {
    let ProposalArgs { proposal, target } = &args.proposal;
    let org = open_org(target).await?;
    let id = find(&org, proposal).await?;
    let path = ["soul-proposals", &id.to_string(), "reject"];
    let request = RejectProposalRequest { reason: args.reason.clone() };
    let rejected: SoulProposal = org.post(&path, &request).await?;
    print_result(&target.output, &serde_json::to_value(&rejected)?, &format!("{id} is rejected"))
}

/// Returns the proposals in a state, oldest first.
async fn in_state(org: &OrgApi, state: &str) -> anyhow::Result<Vec<SoulProposal>> {
    let query = [("state", state), ("limit", LIST_LIMIT)];
    let found: Page<SoulProposal> = org.query(&["soul-proposals"], &query).await?;
    Ok(found.items)
}

/// Finds a proposal by its id, or a pending one by the end of it.
async fn find(org: &OrgApi, text: &str) -> anyhow::Result<ProposalId> {
    let pending = in_state(org, "pending").await?;
    let known: Vec<ProposalId> = pending.iter().map(|one| one.proposal.id).collect();
    match_id(text, &known)?.ok_or_else(|| {
        let name = &org.org.name;
        not_here(format!("no proposal {text} waits in {name}; see `ostler soul proposals ls`"))
    })
}
