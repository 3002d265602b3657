//! `ostler soul`: the personality and rules of an agent, and their versions.

mod document;
mod proposals;

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use ostler_api::soul::{PromptPreview, PromptRequest, RollbackRequest, SoulVersions};
use ostler_domain::soul::{Soul, SoulField, SoulOrigin, SoulVersion};
use ostler_world::Kind;
use serde_json::{Value, json};

use super::args::OrgArgs;
use super::operator::print_result;
use super::resource::{Ask, Assignment, Change, ChangeArgs, ResourceEditor};
use crate::api_client::{OrgApi, open_org};
use crate::screen::{BAD, DIM, GOOD, HEADER};

#[derive(Debug, Subcommand)]
pub(crate) enum SoulCommand {
    /// Show the soul of an agent, or an earlier version of it
    #[command(after_help = "\
Examples:
  ostler soul show support --org nordlicht
  ostler soul show support --org nordlicht --version 1 --json")]
    Show(SoulShowArgs),
    /// List the versions of a soul
    #[command(after_help = "\
Examples:
  ostler soul log support --org nordlicht")]
    Log(SoulArgs),
    /// Show what changed between two versions
    #[command(after_help = "\
Examples:
  ostler soul diff support 1 --org nordlicht
  ostler soul diff support 1 3 --org nordlicht")]
    Diff(SoulDiffArgs),
    /// Restore an earlier version as a new one
    #[command(after_help = "\
Examples:
  ostler soul rollback support 1 --org nordlicht")]
    Rollback(SoulRollbackArgs),
    /// Write a soul as SOUL.md: the fields as front matter, the rest as Markdown
    #[command(after_help = "\
Examples:
  ostler soul export support --org nordlicht --out SOUL.md")]
    Export(SoulExportArgs),
    /// Replace a soul by a SOUL.md and look at the plan before it changes
    #[command(after_help = "\
Examples:
  ostler soul import support SOUL.md --org nordlicht")]
    Import(SoulImportArgs),
    /// Edit a soul in your editor and look at the plan before it changes
    #[command(after_help = "\
Examples:
  ostler soul edit support --org nordlicht")]
    Edit(SoulEditArgs),
    /// Propose another soul, on which an admin or an owner decides
    #[command(after_help = "\
Examples:
  ostler soul propose support SOUL.md --org nordlicht \\
      --reason \"customers find it too formal\"")]
    Propose(proposals::ProposeArgs),
    /// Look back at recent conversations of an agent, and propose a change if they call for one
    ///
    /// The agent's model reads the conversations in which a person had to step in. It costs
    /// credits, and changes nothing before somebody approves the proposal.
    #[command(after_help = "\
Examples:
  ostler soul reflect support --org nordlicht")]
    Reflect(SoulArgs),
    /// List, show and decide on proposals, also those of agents
    #[command(subcommand)]
    Proposals(proposals::ProposalsCommand),
    /// Print the system prompt that an agent gets in a new conversation
    #[command(after_help = "\
Examples:
  ostler soul preview support --org nordlicht
  ostler soul preview support --org nordlicht --with SOUL.md")]
    Preview(SoulPreviewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SoulArgs {
    /// Agent, by slug
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SoulShowArgs {
    #[command(flatten)]
    soul: SoulArgs,
    /// Version to show [default: the current one]
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct SoulDiffArgs {
    #[command(flatten)]
    soul: SoulArgs,
    /// Version to compare
    #[arg(value_name = "FROM")]
    from: u32,
    /// Version to compare with [default: the current one]
    #[arg(value_name = "TO")]
    to: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct SoulRollbackArgs {
    #[command(flatten)]
    soul: SoulArgs,
    /// Version to restore
    #[arg(value_name = "VERSION")]
    version: u32,
}

#[derive(Debug, Args)]
pub(crate) struct SoulExportArgs {
    #[command(flatten)]
    soul: SoulArgs,
    /// File to write [default: print it]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SoulImportArgs {
    #[command(flatten)]
    soul: SoulArgs,
    /// File to read
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SoulEditArgs {
    #[command(flatten)]
    soul: SoulArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SoulPreviewArgs {
    #[command(flatten)]
    soul: SoulArgs,
    /// SOUL.md to use instead of the current soul
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
}

pub(crate) async fn run(command: &SoulCommand) -> anyhow::Result<()> {
    match command {
        SoulCommand::Show(args) => show(args).await,
        SoulCommand::Log(args) => log(args).await,
        SoulCommand::Diff(args) => diff(args).await,
        SoulCommand::Rollback(args) => roll_back(args).await,
        SoulCommand::Export(args) => export(args).await,
        SoulCommand::Import(args) => import(args).await,
        SoulCommand::Edit(args) => edit(args).await,
        SoulCommand::Propose(args) => proposals::propose(args).await,
        SoulCommand::Reflect(args) => proposals::reflect(args).await,
        SoulCommand::Proposals(command) => proposals::run(command).await,
        SoulCommand::Preview(args) => preview(args).await,
    }
}

/// Returns the versions of a soul, from 1; there is at least one.
async fn versions(args: &SoulArgs) -> anyhow::Result<Vec<SoulVersion>> {
    let versions = versions_of(&open_org(&args.target).await?, &args.agent).await?;
    ensure!(
        !versions.is_empty(),
        "`{}` has no soul yet; write one with `ostler soul edit`",
        args.agent
    );
    Ok(versions)
}

async fn versions_of(org: &OrgApi, agent: &str) -> anyhow::Result<Vec<SoulVersion>> {
    let found: SoulVersions = org.get(&["agents", agent, "soul", "versions"]).await?;
    Ok(found.items)
}

fn version(versions: &[SoulVersion], wanted: Option<u32>) -> anyhow::Result<&SoulVersion> {
    let newest = versions.last().map_or(0, |last| last.version);
    let wanted = wanted.unwrap_or(newest);
    let found = versions.iter().find(|one| one.version == wanted);
    found.with_context(|| format!("there is no version {wanted}; the versions are 1 to {newest}"))
}

async fn show(args: &SoulShowArgs) -> anyhow::Result<()> {
    let versions = versions(&args.soul).await?;
    let version = version(&versions, args.version)?;
    if args.soul.target.output.json {
        return super::print_json(version);
    }
    anstream::print!("{}", document::write(&version.soul)?);
    Ok(())
}

async fn log(args: &SoulArgs) -> anyhow::Result<()> {
    let versions = versions(args).await?;
    if args.target.output.json {
        return super::print_json(&versions);
    }
    for version in versions.iter().rev() {
        let at = jiff::Timestamp::from_millisecond(version.at.as_millis())?;
        let origin = match version.origin {
            SoulOrigin::Created => "created".to_owned(),
            SoulOrigin::Edited => "edited".to_owned(),
            SoulOrigin::Proposal(id) => format!("proposal {id}"),
            SoulOrigin::Rollback { to } => format!("version {to} restored"),
        };
        anstream::println!(
            "{HEADER}{:>3}{HEADER:#}  {DIM}{at:.0}{DIM:#}  {origin}",
            version.version
        );
    }
    Ok(())
}

async fn diff(args: &SoulDiffArgs) -> anyhow::Result<()> {
    let versions = versions(&args.soul).await?;
    let from = version(&versions, Some(args.from))?;
    let to = version(&versions, args.to)?;
    let changes = changes(&from.soul, &to.soul);
    if args.soul.target.output.json {
        return super::print_json(&changes);
    }
    if changes.is_empty() {
        anstream::println!("versions {} and {} are the same", from.version, to.version);
    }
    print_changes(&changes);
    Ok(())
}

/// Returns the fields in which two souls differ, with both values.
fn changes(from: &Soul, to: &Soul) -> Vec<Value> {
    let [old, new] = [from, to].map(|soul| serde_json::to_value(soul).unwrap_or_default());
    let fields = from.changed_fields(to).into_iter().map(SoulField::name);
    fields.map(|name| json!({"field": name, "old": old[name], "new": new[name]})).collect()
}

fn print_changes(changes: &[Value]) {
    for change in changes {
        anstream::println!("{HEADER}{}{HEADER:#}", change["field"].as_str().unwrap_or_default());
        for (sign, style, value) in [("-", BAD, &change["old"]), ("+", GOOD, &change["new"])] {
            for line in lines(value) {
                anstream::println!("{style}{sign} {line}{style:#}");
            }
        }
    }
}

/// Returns a value of a soul in lines.
fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.lines().map(str::to_owned).collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

async fn roll_back(args: &SoulRollbackArgs) -> anyhow::Result<()> {
    let target = &args.soul.target;
    let org = open_org(target).await?;
    let request = RollbackRequest { version: args.version };
    let path = ["agents", args.soul.agent.as_str(), "soul", "rollback"];
    let restored: SoulVersion = org.post(&path, &request).await?;
    let text = format!("version {} restored as version {}", args.version, restored.version);
    print_result(&target.output, &serde_json::to_value(&restored)?, &text)
}

async fn export(args: &SoulExportArgs) -> anyhow::Result<()> {
    let versions = versions(&args.soul).await?;
    let text = document::write(&version(&versions, None)?.soul)?;
    match &args.out {
        None => anstream::print!("{text}"),
        Some(file) => std::fs::write(file, text)
            .with_context(|| format!("cannot write {}", file.display()))?,
    }
    Ok(())
}

async fn import(args: &SoulImportArgs) -> anyhow::Result<()> {
    let soul = document::read(&args.file)?;
    let target = &args.soul.target;
    let org = open_org(target).await?;
    let editor = ResourceEditor::open(&org.api).await?;
    let address = editor.find(&org.org.slug, Kind::Agent, &args.soul.agent)?;
    let how = Change { args: &args.change, output: &target.output, ask: Ask::First };
    let soul = Assignment::new("soul", serde_json::to_value(soul)?);
    editor.set(&address, &[soul], &how).await
}

async fn edit(args: &SoulEditArgs) -> anyhow::Result<()> {
    let target = &args.soul.target;
    let org = open_org(target).await?;
    let editor = ResourceEditor::open(&org.api).await?;
    let address = editor.find(&org.org.slug, Kind::Agent, &args.soul.agent)?;
    let soul: Option<Soul> = serde_json::from_value(editor.get(&address)?.value()["soul"].clone())?;
    let (soul, file) = document::edit(&soul.unwrap_or_default())?;
    let how = Change { args: &args.change, output: &target.output, ask: Ask::First };
    let soul = Assignment::new("soul", serde_json::to_value(soul)?);
    file.keep_if_failed(editor.set(&address, &[soul], &how).await)
}

async fn preview(args: &SoulPreviewArgs) -> anyhow::Result<()> {
    let soul = args.with.as_deref().map(document::read).transpose()?;
    let org = open_org(&args.soul.target).await?;
    let path = ["agents", args.soul.agent.as_str(), "prompt"];
    let preview: PromptPreview = match soul {
        Some(soul) => org.post(&path, &PromptRequest { soul }).await?,
        None => org.get(&path).await?,
    };
    print_result(&args.soul.target.output, &json!(preview), preview.prompt.trim_end())
}
