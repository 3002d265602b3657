//! `ostler apply`: makes the installation what files say.

mod data_rows;
mod data_view;
mod host;
mod notes;
mod plan_view;
mod planned;

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use ostler_api::problem::{Problem, ProblemCode};
use ostler_api::resource::{CallWindow, KeptSide, PlanRequest, ResourcePlan, ResourceSource};
use ostler_domain::gate::setting::decides_about_calls;
use ostler_world::file::{ParsedFiles, parse_partly};
use ostler_world::plan::flatten;
use ostler_world::rules::Violation;
use ostler_world::{Kind, Resources};

use super::args::{InstallationArgs, OutputArgs};
use super::resource::request;
use crate::api_client::ApiClient;
use crate::screen::count;
use crate::world::{in_file_order, read_files, report};

pub(crate) use host::Host;
pub(crate) use plan_view::short;
pub(crate) use planned::PlannedChange;

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

impl From<KeepArg> for KeptSide {
    fn from(keep: KeepArg) -> Self {
        match keep {
            KeepArg::Live => Self::Live,
            KeepArg::File => Self::File,
        }
    }
}

pub(crate) async fn run(args: &ApplyArgs) -> anyhow::Result<()> {
    let files = read_files(&args.paths)?;
    let api = ApiClient::open(&args.installation).await;
    let parsed = parse_files(&files, api.as_ref().ok()).await?;
    let api = api?;
    let keep = args.keep.map(KeptSide::from);
    let planned = plan(&api, &parsed, keep, None).await?;
    planned.show(args.output.json)?;
    let refused: usize = planned.plan.data.iter().map(|data| data.refused).sum();
    if args.plan {
        ensure!(refused == 0, "{} refused; correct the data", row_count(refused));
        return Ok(());
    }
    if !planned.plan.drift.is_empty() && keep.is_none() {
        bail!(
            "the live state has changed since the last apply; decide with --keep live or \
             --keep file, or write it into the files with `ostler export`"
        );
    }
    if refused > 0 {
        bail!("nothing was applied, because {} refused; correct the data", row_count(refused));
    }
    let kept = if keep == Some(KeptSide::Live) { planned.plan.drift.len() } else { 0 };
    if planned.is_empty() {
        print_kept(kept, args.output.json);
        return planned.apply(args.output.json).await;
    }
    confirm(args.yes, "Apply these changes?")?;
    print_kept(kept, args.output.json);
    match planned.apply(args.output.json).await {
        Err(error) if changed_meanwhile(&error) => {
            let now = plan(&api, &parsed, keep, None).await?;
            if !args.output.json {
                anstream::println!("\nThe live state has moved on; this is the plan now:\n");
            }
            now.show(args.output.json)?;
            Err(error)
        }
        other => other,
    }
}

/// Says how many live values stay, where the files say something else.
fn print_kept(kept: usize, quiet: bool) {
    if kept > 0 && !quiet {
        anstream::println!("kept {}", count(kept as u64, "live value"));
    }
}

fn row_count(rows: usize) -> String {
    if rows == 1 { "1 row is".to_owned() } else { format!("{rows} rows are") }
}

/// Plans what files say, where it differs from what lives.
pub(crate) async fn plan_files(
    api: &ApiClient,
    paths: &[PathBuf],
    window: CallWindow,
) -> anyhow::Result<(Resources, PlannedChange)> {
    let files = read_files(paths)?;
    let parsed = parse_files(&files, Some(api)).await?;
    let planned = plan(api, &parsed, Some(KeptSide::File), Some(window)).await?;
    Ok((parsed.resources, planned))
}

/// Parses files. The error has every mistake: what breaks a rule of the installation too,
/// where the rest of the files can be read.
async fn parse_files(
    files: &[(String, String)],
    api: Option<&ApiClient>,
) -> anyhow::Result<ParsedFiles> {
    let partly = parse_partly(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    if partly.problems.is_empty() {
        return Ok(partly.files);
    }
    let mut problems = partly.problems;
    if let (Some(api), Some(incomplete)) = (api, &partly.incomplete) {
        let known = partly.files.resources.iter().filter(|(one, _)| !incomplete.contains(*one));
        let known = known.map(|(address, one)| (address.clone(), one.clone())).collect();
        let incomplete = incomplete.iter().map(ToString::to_string).collect();
        let request = PlanRequest { incomplete, ..request(&known, ResourceSource::Files) };
        let planned = PlannedChange::request(api, request).await?;
        let broken = violations(&planned.plan)?;
        problems.extend(broken.iter().filter_map(|violation| partly.files.locate(violation)));
    }
    Err(in_file_order(problems))
}

/// Plans a change from files; the error points at what breaks a rule.
async fn plan(
    api: &ApiClient,
    parsed: &ParsedFiles,
    keep: Option<KeptSide>,
    window: Option<CallWindow>,
) -> anyhow::Result<PlannedChange> {
    // What is wrong with the resources is said before what is wrong with the data.
    let (data, unreadable) = match data_rows::read(parsed, api).await {
        Ok(data) => (data, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let places = places(parsed);
    let files = request(&parsed.resources, ResourceSource::Files);
    let request = PlanRequest { keep, window, data, places, ..files };
    let planned = PlannedChange::request(api, request).await?;
    let broken = violations(&planned.plan)?;
    if !broken.is_empty() {
        return Err(report(parsed, &broken));
    }
    unreadable.map_or(Ok(planned), Err)
}

/// Returns the rules that a plan breaks.
fn violations(plan: &ResourcePlan) -> anyhow::Result<Vec<Violation>> {
    let each = plan.violations.iter().map(|one| {
        let (path, message) = (one.path.clone(), one.message.clone());
        Ok(Violation { address: one.resource.parse()?, path, message })
    });
    each.collect()
}

/// Returns where the files say what decides about tool calls, for the audit log.
fn places(parsed: &ParsedFiles) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut places: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (address, resource) in &parsed.resources {
        if !matches!(address.kind, Kind::Platform | Kind::Org | Kind::Agent) {
            continue;
        }
        for path in flatten(resource.value()).into_keys() {
            if let Some(place) =
                parsed.place_of(address, &path).filter(|_| decides_about_calls(&path))
            {
                places.entry(address.to_string()).or_default().insert(path, place);
            }
        }
    }
    places
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
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.code == ProblemCode::Changed)
}
