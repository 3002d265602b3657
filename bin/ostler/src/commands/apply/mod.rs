//! `ostler apply`: makes the installation what files say.

mod data_rows;
mod data_view;
mod host;
mod plan_view;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use ostler_domain::gate::setting::decides_about_calls;
use ostler_runtime::operations::world::{
    AppliedRows, CheckedPlan, DataPlan, FieldPlaces, LiveWorld,
};
use ostler_runtime::operations::{Actor, OperationError};
use ostler_store::StoreError;
use ostler_world::file::{ParsedFiles, parse};
use ostler_world::plan::{Keep, Plan};
use ostler_world::{Kind, Resources};

use super::args::{InstallationArgs, OutputArgs};
use super::operator::Operator;
use super::policy::{print_replay, replay_for_plan, replay_json};
use super::tools::definition::print_problems;
use crate::screen::DIM;
use crate::tool_check;
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
integrations, documents, people and business data. `ostler schema` prints what they may contain,
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
    let refused: usize = plan.data.iter().map(DataPlan::refused).sum();
    if refused > 0 {
        bail!(
            "nothing was applied, because {} refused; correct the data",
            if refused == 1 { "1 row is".to_owned() } else { format!("{refused} rows are") }
        );
    }
    if plan.is_empty() {
        return apply(&operator, &plan, args.output.json).await;
    }
    confirm(args.yes, "Apply these changes?")?;
    match apply(&operator, &plan, args.output.json).await {
        Err(error) if changed_meanwhile(&error) => {
            let now = self::plan(&operator, &parsed, keep).await?;
            if !args.output.json {
                anstream::println!("\nThe live state has moved on; this is the plan now:\n");
            }
            show_plan(&operator, &now, args.output.json).await?;
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
        if !plan.data.is_empty() {
            shown["data"] = data_view::to_json(&plan.data);
        }
        if let Some((replay, window)) = &replayed {
            shown["what_if"] = replay_json(replay, *window);
        }
        return super::print_json(&shown);
    }
    if let Some((replay, window)) = &replayed {
        print_replay(replay, *window);
    }
    print_plan(&plan.plan);
    data_view::print(&plan.data);
    anstream::println!("{}", plan_view::summary(&plan.plan, data_view::summary(&plan.data)));
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
    let mut plan = plan.map_err(|refused| report(parsed, &refused.0))?;
    plan.places = places(parsed, &plan.plan);
    let applied = match keep {
        Some(Keep::File) => AppliedRows::Repeat,
        Some(Keep::Live) | None => AppliedRows::Skip,
    };
    let data = data_rows::read(parsed, &plan)?;
    operator.operations.plan_data(Actor::Terminal, &mut plan, data, applied).await?;
    Ok(plan)
}

/// Returns where the files say what a plan changes about the rules of tool calls, for the
/// audit log.
fn places(parsed: &ParsedFiles, plan: &Plan) -> FieldPlaces {
    let mut places = FieldPlaces::new();
    for change in &plan.changes {
        let decides = |path: &&String| match change.address.kind {
            Kind::Platform | Kind::Org | Kind::Agent => decides_about_calls(path),
            _ => false,
        };
        for path in change.fields.iter().map(|field| &field.path).filter(decides) {
            if let Some(place) = parsed.place_of(&change.address, path) {
                places.insert((change.address.clone(), path.clone()), place);
            }
        }
    }
    places
}

/// Plans a change of a few resources that a command makes; the rest stays as it is.
pub(crate) fn plan_resources(
    operator: &Operator,
    live: LiveWorld,
    changed: &Resources,
) -> anyhow::Result<CheckedPlan> {
    operator.operations.plan_change(live, changed).map_err(|refused| {
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
    let total = plan.org_count();
    let mut done = 0;
    let report = |org: &str| {
        done += 1;
        if !quiet && total > 1 {
            anstream::eprintln!("{DIM}{done} of {total}: {org}{DIM:#}");
        }
    };
    operator.operations.apply(Actor::Terminal, plan, &host, report).await?;
    if !quiet && !plan.is_empty() {
        anstream::println!("applied");
    }
    note_tool_problems(operator, plan).await
}

/// Says what keeps the tools of the changed orgs from working on this machine.
async fn note_tool_problems(operator: &Operator, plan: &CheckedPlan) -> anyhow::Result<()> {
    for slug in plan.plan.orgs().into_iter().filter(|slug| !slug.is_empty()) {
        let org = super::find_org(&operator.store, slug).await?;
        for stored in operator.store.org(org.id).org_tools().await? {
            let problems = tool_check::problems(&operator.installation, org.id, &stored.tool);
            print_problems(&problems);
        }
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
