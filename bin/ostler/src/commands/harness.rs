//! `ostler harness`: the harness of an agent in a run.

use anyhow::bail;
use clap::{Args, Subcommand};
use ostler_domain::id::OrgId;
use ostler_domain::id::RunId;
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::snapshot::SoulRef;
use ostler_store::Store;
use serde_json::Value;

use super::args::{InstallationArgs, OutputArgs};
use crate::installation::Installation;
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum HarnessCommand {
    /// Show the harness of each turn of a run: all nine groups
    #[command(after_help = "\
Examples:
  ostler harness show run_01jd0v4k9pf2ht6z3m8w5x7ybc
  ostler harness show run_01jd0v4k9pf2ht6z3m8w5x7ybc --json")]
    Show(HarnessShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HarnessShowArgs {
    /// Run, by id
    #[arg(value_name = "RUN")]
    run: RunId,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(command: &HarnessCommand) -> anyhow::Result<()> {
    let HarnessCommand::Show(args) = command;
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
    anstream::println!("{DIM}{}{DIM:#}", steps.join(" → "));
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
            print_rows(&rows);
        }
    }
    Ok(())
}

/// The groups of a harness, in the order in which they are format_value.
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

async fn find_run(store: &Store, args: &HarnessShowArgs) -> anyhow::Result<(OrgId, RunRecord)> {
    for org in store.orgs().await? {
        if let Ok(stored) = store.org(org.id).run(args.run).await {
            return Ok((org.id, serde_json::from_str(&stored.data)?));
        }
    }
    bail!("no run {}; `ostler session show` lists the runs of a session", args.run)
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

/// Formats a value; costs are stored in millionths of a dollar.
fn format_field(name: &str, value: &Value) -> String {
    match value.as_u64().filter(|_| name.contains("cost")) {
        Some(micros) => format!("${:.2}", micros as f64 / 1e6),
        None => format_value(value),
    }
}

fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "(none)".into(),
        Value::String(text) if text.is_empty() => "(empty)".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "(none)".into(),
        Value::Object(fields) if fields.is_empty() => "(none)".into(),
        Value::Array(items) => items.iter().map(format_value).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
