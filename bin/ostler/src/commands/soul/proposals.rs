//! `ostler soul propose` and `ostler soul proposals`: changes of souls that wait for a
//! decision.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Subcommand, ValueEnum};
use ostler_domain::id::ProposalId;
use ostler_domain::org::Org;
use ostler_domain::soul::proposal::{ProposalAuthor, ProposalStatus};
use ostler_runtime::operations::reflection::{SoulReflection, SoulReflector};
use ostler_runtime::operations::{Actor, ProposalDetail};
use ostler_store::{DecisionState, StoredProposal};
use serde_json::{Value, json};

use super::{SoulArgs, changes, document, print_changes};
use crate::app::App;
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::{Operator, open_org, print_result};
use crate::commands::session::view::{AgentNames, format_time};
use crate::model_uses::ModelUseRecorder;
use crate::refused_command::NotHere;
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

/// The most proposals that are listed.
const LIST_LIMIT: u32 = 100;

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
    let (operator, org) = open_org(target).await?;
    let made = operator.org(&org).propose_soul(&args.soul.agent, soul, &args.reason).await?;
    let id = made.proposal.id;
    let text =
        format!("{id} waits for a decision: `ostler soul proposals show {id} --org {}`", org.slug);
    print_result(&target.output, &serde_json::to_value(&made)?, &text)
}

pub(super) async fn reflect(args: &SoulArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let app = App::new(&operator.installation, operator.store.clone())?;
    let model_uses = ModelUseRecorder::new(&app.store, &app.catalogue);
    let reflector = SoulReflector::for_worker(&app.worker);
    let reflection = reflector.reflect(Actor::Terminal, org.id, &args.agent).await;
    model_uses.record().await;
    let (json, text) = match reflection? {
        SoulReflection::TooLittle { .. } => {
            let reason = "no recent conversation in which a person had to step in";
            (
                json!({"proposal": null, "reason": reason}),
                format!("{reason}: nothing to learn from"),
            )
        }
        SoulReflection::NoChange { reason } => (
            json!({"proposal": null, "reason": reason}),
            format!("no change is proposed: {reason}"),
        ),
        SoulReflection::Proposed(made) => {
            let (id, slug) = (made.proposal.id, &org.slug);
            let text = format!(
                "{id} waits for a decision: {}\n`ostler soul proposals show {id} --org {slug}`",
                made.proposal.reason
            );
            (json!({"proposal": made, "reason": made.proposal.reason}), text)
        }
    };
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
    let (operator, org) = open_org(&args.target).await?;
    let state = match args.state {
        ProposalState::Pending => DecisionState::Pending,
        ProposalState::Applied => DecisionState::Applied,
        ProposalState::Rejected => DecisionState::Rejected,
        ProposalState::Expired => DecisionState::Expired,
        ProposalState::Superseded => DecisionState::Superseded,
    };
    let found = operator.org(&org).soul_proposals(state, LIST_LIMIT).await?;
    if args.target.output.json {
        return crate::commands::print_json(&found);
    }
    if found.is_empty() {
        anstream::println!("no such proposal in {}", org.name);
        return Ok(());
    }
    let names = AgentNames::load(&operator.store, org.id).await?;
    let header = ["proposal", "agent", "by", "why", "made", "expires"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(found.iter().map(|StoredProposal { proposal, author }| {
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
        format!("ostler soul proposals show {first} --org {}", org.slug),
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
    let (operator, org) = open_org(&args.target).await?;
    let id = find(&operator, &org, &args.proposal).await?;
    let ProposalDetail { stored, before, current_version } =
        operator.org(&org).soul_proposal(id).await?;
    let changes = changes(&before, &stored.proposal.soul);
    if args.target.output.json {
        let mut shown = serde_json::to_value(&stored)?;
        shown["changes"] = Value::Array(changes);
        shown["current_version"] = json!(current_version);
        return crate::commands::print_json(&shown);
    }
    let names = AgentNames::load(&operator.store, org.id).await?;
    let proposal = &stored.proposal;
    anstream::println!(
        "{HEADER}{id}{HEADER:#}  {} (version {}), by {}: {}",
        names.get(proposal.target),
        proposal.base_version,
        author_name(stored.author, &names),
        proposal.reason,
    );
    print_changes(&changes);
    match &proposal.status {
        ProposalStatus::Pending if proposal.base_version != current_version => {
            anstream::println!("the soul is at version {current_version} now; propose it again");
        }
        ProposalStatus::Pending => print_next([
            NextCommand::new(format!("ostler soul proposals approve {id} --org {}", org.slug), ""),
            NextCommand::new(
                format!("ostler soul proposals reject {id} --org {} --reason …", org.slug),
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
    let (operator, org) = open_org(&args.target).await?;
    let id = find(&operator, &org, &args.proposal).await?;
    let version = operator.org(&org).approve_soul_proposal(id).await?;
    let text = format!("{id} is approved: version {} of the soul", version.version);
    print_result(&args.target.output, &serde_json::to_value(&version)?, &text)
}

async fn reject(args: &RejectArgs) -> anyhow::Result<()> {
    let ProposalArgs { proposal, target } = &args.proposal;
    let (operator, org) = open_org(target).await?;
    let id = find(&operator, &org, proposal).await?;
    let rejected = operator.org(&org).reject_soul_proposal(id, &args.reason).await?;
    print_result(&target.output, &serde_json::to_value(&rejected)?, &format!("{id} is rejected"))
}

/// Finds a proposal by its id, or a pending one by the end of it.
async fn find(operator: &Operator, org: &Org, text: &str) -> anyhow::Result<ProposalId> {
    let pending = operator.org(org).soul_proposals(DecisionState::Pending, LIST_LIMIT).await?;
    let known: Vec<ProposalId> = pending.iter().map(|stored| stored.proposal.id).collect();
    match match_id(text, &known)? {
        Some(id) => Ok(id),
        None => bail!(NotHere(format!(
            "no proposal {text} waits in {}; see `ostler soul proposals ls`",
            org.name
        ))),
    }
}
