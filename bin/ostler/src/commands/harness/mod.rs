//! `ostler harness`: the harness of an agent in a run, and running it again.

mod replay;

use anyhow::bail;
use clap::{Args, Subcommand};
use ostler_domain::id::{OrgId, RunId};
use ostler_domain::org::Org;
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::snapshot::SoulRef;
use ostler_store::{SessionFilter, Store};
use serde_json::Value;

use super::args::{InstallationArgs, OutputArgs, match_id};
use crate::commands::json::format_day;
use crate::installation::Installation;
use crate::refused_command::NotHere;
use crate::screen::{Cell, DIM, HEADER, print_fields, print_paragraph};

/// The most sessions of an org, and runs of a session, that are searched for the end of an id.
const SEARCH_LIMIT: u32 = 50;

#[derive(Debug, Subcommand)]
pub(crate) enum HarnessCommand {
    /// Show the harness of each turn of a run: all nine groups
    #[command(after_help = "\
Examples:
  ostler harness show …7ybc
  ostler harness show …7ybc --json")]
    Show(RunArgs),
    /// Run a run again with another model or policy, and show what would change
    #[command(after_help = "\
Examples:
  ostler harness replay …7ybc
  ostler harness replay …7ybc --model large --yes
  ostler harness replay …7ybc --policy stricter.toml --json

Tools answer with their recorded results and do nothing. A call that was not recorded
is answered with \"not recorded\", and the replay shows where it left the recorded path.
The organization pays for the model; without --yes the command only says how much.")]
    Replay(replay::ReplayArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Run, by id, or by the end of its id if it is a recent one
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(command: &HarnessCommand) -> anyhow::Result<()> {
    match command {
        HarnessCommand::Show(args) => show(args).await,
        HarnessCommand::Replay(args) => replay::run(args).await,
    }
}

async fn show(args: &RunArgs) -> anyhow::Result<()> {
    let store = Store::open(&Installation::find(&args.installation)?.database()).await?;
    let (org, run) = find_run(&store, args).await?;
    if args.output.json {
        return super::print_json(&run);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {}", run.id, run.outcome.as_str());
    let steps: Vec<String> = run
        .steps
        .iter()
        .map(|step| format!("{} {} ({:.1} ms)", step.step, step.name, step.took_us as f64 / 1000.0))
        .collect();
    print_paragraph(&steps.join(" → "), DIM);
    print_paragraph(STEPS_NOTE, DIM);
    if run.turns.is_empty() {
        anstream::println!("\nNo agent took a turn in this run.");
    }
    for turn in &run.turns {
        anstream::println!();
        let harness = serde_json::to_value(&turn.harness)?;
        for group in GROUPS {
            anstream::println!("{HEADER}{}{HEADER:#}", group.replace('_', " "));
            let mut group_fields = fields(&harness[group]);
            if group == "soul" {
                group_fields.extend(soul_fields(&store, org, turn.harness.soul).await?);
            }
            let rows: Vec<[Cell; 2]> = group_fields
                .into_iter()
                .map(|(name, value)| [Cell::styled(format!("  {name}"), DIM), value.into()])
                .collect();
            print_fields(&rows);
        }
    }
    Ok(())
}

/// Why the numbers of the steps are not in order.
const STEPS_NOTE: &str = "The numbers are names of steps. The session comes first because it \
    decides the agent, and the tools before the prompt that describes them.";

/// The groups of a harness, in the order in which they are printed.
const GROUPS: [&str; 9] = [
    "identity",
    "soul",
    "tool_scope",
    "credit_budget",
    "autonomy",
    "rate_limits",
    "session_context",
    "error_state",
    "escalation_state",
];

/// Returns the fields of the soul version that the agent used.
async fn soul_fields(
    store: &Store,
    org: OrgId,
    of: SoulRef,
) -> anyhow::Result<Vec<(String, String)>> {
    let versions = store.org(org).soul_versions(of.owner).await?;
    let found = versions.into_iter().find(|version| version.version == of.version);
    let soul = found.map(|version| version.soul).unwrap_or_default();
    Ok(fields(&serde_json::to_value(soul)?))
}

async fn find_run(store: &Store, args: &RunArgs) -> anyhow::Result<(OrgId, RunRecord)> {
    let orgs = store.orgs().await?;
    let id = match args.run.parse() {
        Ok(id) => Some(id),
        Err(_) => match_id(&args.run, &recent_runs(store, &orgs).await?)?,
    };
    for org in &orgs {
        if let Some(id) = id
            && let Ok(stored) = store.org(org.id).run(id).await
        {
            return Ok((org.id, RunRecord::from_stored(&stored)?));
        }
    }
    bail!(NotHere(format!(
        "no run {}; `ostler session show` lists the runs of a session",
        args.run
    )))
}

/// Returns the runs of the newest sessions.
async fn recent_runs(store: &Store, orgs: &[Org]) -> anyhow::Result<Vec<RunId>> {
    let mut runs = Vec::new();
    for org in orgs {
        let store = store.org(org.id);
        for session in store.sessions(SessionFilter::All, None, SEARCH_LIMIT).await? {
            runs.extend(store.runs(session.id, None, SEARCH_LIMIT).await?.iter().map(|run| run.id));
        }
    }
    Ok(runs)
}

/// Flattens the fields of a group into names and values.
fn fields(group: &Value) -> Vec<(String, String)> {
    let Value::Object(group) = group else { return Vec::new() };
    let mut all = Vec::new();
    for (name, value) in group {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                for (inner_name, value) in inner {
                    all.push((format!("{name}.{inner_name}"), format_field(inner_name, value)));
                }
            }
            value => all.push((name.clone(), format_field(name, value))),
        }
    }
    all
}

/// Formats a value; costs are stored in millionths of a dollar, days since 1970.
fn format_field(name: &str, value: &Value) -> String {
    match (name, value.as_u64(), value.as_str()) {
        (name, Some(micros), _) if name.contains("cost") => format!("${:.2}", micros as f64 / 1e6),
        ("day", Some(days), _) => format_day(days),
        ("protected", _, Some("open")) => "no".to_owned(),
        ("protected", _, Some("protected")) => "yes".to_owned(),
        _ => format_value(value),
    }
}

fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "(none)".into(),
        Value::String(text) if text.is_empty() => "(empty)".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "(none)".into(),
        Value::Object(fields) if fields.is_empty() => "(none)".into(),
        Value::Array(items) => items.iter().map(format_item).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Formats an item of a list; a pair is a name with what belongs to it.
fn format_item(item: &Value) -> String {
    match item.as_array().map(Vec::as_slice) {
        Some([name, value]) => format!("{} ({})", format_value(name), format_value(value)),
        _ => format_value(item),
    }
}
