//! `ostler apply`: makes the installation what files say.

mod host;
mod plan_view;

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use ostler_runtime::operations::world::{CheckedPlan, LiveWorld};
use ostler_runtime::operations::{Actor, OperationError};
use ostler_store::StoreError;
use ostler_world::Resources;
use ostler_world::file::{ParsedFiles, parse};
use ostler_world::plan::Keep;

use super::args::{InstallationArgs, OutputArgs};
use super::operator::Operator;
use super::policy::{print_replay, replay_for_plan, replay_json};
use crate::screen::DIM;
use crate::world::{read_files, report};

pub(crate) use host::Host;
pub(crate) use plan_view::short;
use plan_view::{plan_json, print_plan};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler apply world/ --plan
  ostler apply world/
  ostler apply nordlicht.toml --yes
  ostler apply world/ --keep file

Files define organizations and all that belongs to them: agents, channels,
integrations, documents and people. `ostler schema` prints what they may contain,
`ostler export` writes what lives as files. A file that defines an organization
defines all of it: what was applied before and is not in the file any more is
archived or removed. What was made by other means and is in no file stays.
docs/WORLD_FILES.md describes it.")]
pub(crate) struct ApplyArgs {
    /// World files, or folders with them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Show what would change and stop
    #[arg(long)]
    plan: bool,
    /// Apply without asking
    #[arg(long, conflicts_with = "plan")]
    yes: bool,
    /// Which value stays where something was changed live since the last apply
    #[arg(long, value_name = "WHICH")]
    keep: Option<KeepArg>,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeepArg {
    Live,
    File,
}

impl From<KeepArg> for Keep {
    fn from(keep: KeepArg) -> Self {
        match keep {
            KeepArg::Live => Self::Live,
            KeepArg::File => Self::File,
        }
    }
}

pub(crate) async fn run(args: &ApplyArgs) -> anyhow::Result<()> {
    let files = read_files(&args.paths)?;
    let parsed = parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))?;
    let operator = Operator::open(&args.installation).await?;
    let keep = args.keep.map(Keep::from);
    let plan = plan(&operator, &parsed, keep).await?;
    show_plan(&operator, &plan, args.output.json).await?;
    if args.plan {
        return Ok(());
    }
    if !plan.plan.drift.is_empty() && keep.is_none() {
        bail!(
            "the live state has changed since the last apply; decide with --keep live or \
             --keep file, or write it into the files with `ostler export`"
        );
    }
    if plan.plan.changes.is_empty() {
        return apply(&operator, &plan, args.output.json).await;
    }
    confirm(args.yes, "Apply these changes?")?;
    match apply(&operator, &plan, args.output.json).await {
        Err(error) if changed_meanwhile(&error) => {
            let now = self::plan(&operator, &parsed, keep).await?;
            anstream::println!("\nThe live state has moved on; this is the plan now:\n");
            print_plan(&now.plan);
            bail!("somebody else changed the configuration; look at the new plan and apply again")
        }
        other => other,
    }
}

/// Shows a plan, with what it would have meant for the tool calls of the last days.
pub(crate) async fn show_plan(
    operator: &Operator,
    plan: &CheckedPlan,
    json: bool,
) -> anyhow::Result<()> {
    let replayed = replay_for_plan(operator, plan).await?;
    if json {
        let mut shown = plan_json(&plan.plan);
        if let Some((replay, window)) = &replayed {
            shown["what_if"] = replay_json(replay, *window);
        }
        return super::print_json(&shown);
    }
    if let Some((replay, window)) = &replayed {
        print_replay(replay, *window);
    }
    print_plan(&plan.plan);
    Ok(())
}

/// Plans what files say, where it differs from what lives.
pub(crate) async fn plan_files(
    operator: &Operator,
    paths: &[PathBuf],
) -> anyhow::Result<CheckedPlan> {
    let files = read_files(paths)?;
    let parsed = parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))?;
    plan(operator, &parsed, Some(Keep::File)).await
}

/// Plans a change from files; the error points at what breaks a rule.
async fn plan(
    operator: &Operator,
    parsed: &ParsedFiles,
    keep: Option<Keep>,
) -> anyhow::Result<CheckedPlan> {
    let live = operator.operations.live_world(Actor::Terminal).await?;
    let plan = operator.operations.plan(live, &parsed.resources, keep);
    plan.map_err(|refused| report(parsed, &refused.0))
}

/// Plans a change of a few resources that a command makes; the rest stays as it is.
pub(crate) fn plan_resources(
    operator: &Operator,
    mut live: LiveWorld,
    changed: &Resources,
) -> anyhow::Result<CheckedPlan> {
    // A change by a command is not drift: it starts from what lives.
    live.applied = BTreeMap::new();
    operator.operations.plan(live, changed, None).map_err(|refused| {
        let lines = refused.0.iter().map(|violation| {
            let path = if violation.path.is_empty() { "" } else { ": " };
            format!("{}{path}{}: {}", violation.address, violation.path, violation.message)
        });
        anyhow::anyhow!(lines.collect::<Vec<_>>().join("\n"))
    })
}

/// Applies a plan and reports each org.
pub(crate) async fn apply(
    operator: &Operator,
    plan: &CheckedPlan,
    quiet: bool,
) -> anyhow::Result<()> {
    let host = Host::new(&operator.installation)?;
    let total = plan.plan.orgs().len();
    let mut done = 0;
    let report = |org: &str| {
        done += 1;
        if !quiet && total > 1 {
            anstream::eprintln!("{DIM}{done} of {total}: {org}{DIM:#}");
        }
    };
    operator.operations.apply(Actor::Terminal, plan, &host, report).await?;
    if !quiet && !plan.plan.changes.is_empty() {
        anstream::println!("applied");
    }
    Ok(())
}

/// Asks a person; fails without a terminal unless `yes` was given.
pub(crate) fn confirm(yes: bool, question: &str) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    ensure!(
        std::io::stdin().is_terminal(),
        "nobody is here to ask; add --yes if the plan above is right"
    );
    anstream::print!("\n{question} [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    ensure!(matches!(answer.trim(), "y" | "yes"), "nothing was changed");
    Ok(())
}

fn changed_meanwhile(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<OperationError>();
    matches!(cause, Some(OperationError::Store(StoreError::ConfigChanged)))
}
