//! `ostler harness`: the harness of an agent in a run, and running it again.

mod replay;

use clap::{Args, Subcommand};
use ostler_api::page::Page;
use ostler_api::run::StoredRun;
use ostler_domain::id::RunId;
use ostler_runtime::records::run::RunRecord;
use serde_json::Value;

use super::args::{InstallationArgs, OutputArgs, match_id};
use crate::api_client::{ApiClient, OrgApi, not_here};
use crate::commands::json::format_day;
use crate::screen::{Cell, DIM, HEADER, print_fields, print_paragraph};

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
    let (_, StoredRun { record, souls }) = find_run(args).await?;
    if args.output.json {
        return super::print_json(&record);
    }
    let run: RunRecord = serde_json::from_value(record)?;
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
    for (number, turn) in run.turns.iter().enumerate() {
        anstream::println!();
        let harness = serde_json::to_value(&turn.harness)?;
        for group in GROUPS {
            anstream::println!("{HEADER}{}{HEADER:#}", group.replace('_', " "));
            let mut group_fields = fields(&harness[group]);
            if group == "soul" {
                group_fields.extend(fields(&serde_json::to_value(souls.get(number))?));
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

/// Finds a run by its id, or by the end of its id among the recent ones of all orgs.
async fn find_run(args: &RunArgs) -> anyhow::Result<(OrgApi, StoredRun)> {
    let api = ApiClient::open(&args.installation).await?;
    let mut found: Vec<(OrgApi, RunId)> = Vec::new();
    for org in api.orgs().await? {
        let org = api.org(org);
        let runs: Page<RunId> = org.query(&["runs"], &[("id", &args.run)]).await?;
        found.extend(runs.items.into_iter().map(|run| (org.clone(), run)));
    }
    let ids: Vec<RunId> = found.iter().map(|(_, run)| *run).collect();
    let id = match_id(&args.run, &ids)?;
    let Some((org, id)) = found.into_iter().find(|(_, run)| Some(*run) == id) else {
        let why = format!("no run {}; `ostler session show` lists the runs of a session", args.run);
        return Err(not_here(why));
    };
    let run = org.get(&["runs", &id.to_string(), "record"]).await?;
    Ok((org, run))
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
