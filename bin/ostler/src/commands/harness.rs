//! `ostler harness show`: what an agent worked in.

use anyhow::bail;
use ostler_domain::id::OrgId;
use ostler_runtime::talk::run::RunRecord;
use ostler_runtime::talk::snapshot::SoulRef;
use ostler_store::Store;
use serde_json::Value;

use crate::cli::talk::{Harness, HarnessShow};
use crate::home::Home;
use crate::screen::{Cell, HEADER, QUIET, print_rows};

pub(crate) async fn run(command: &Harness) -> anyhow::Result<()> {
    let Harness::Show(show) = command;
    let store = Store::open(&Home::find(&show.at)?.database()).await?;
    let (org, run) = find(&store, show).await?;
    if show.output.json {
        return super::print_json(&run);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {}", run.id, run.outcome.word());
    let steps: Vec<String> = run
        .steps
        .iter()
        .map(|one| format!("{} {} ({:.1} ms)", one.step, one.name, one.took_us as f64 / 1000.0))
        .collect();
    anstream::println!("{QUIET}{}{QUIET:#}", steps.join(" → "));
    if run.turns.is_empty() {
        anstream::println!("\nNo agent was asked in this run.");
    }
    for turn in &run.turns {
        anstream::println!();
        let harness = serde_json::to_value(&turn.harness)?;
        for group in GROUPS {
            anstream::println!("{HEADER}{}{HEADER:#}", group.replace('_', " "));
            let mut fields = flat(&harness[group]);
            if group == "soul" {
                fields.extend(soul(&store, org, turn.harness.soul).await?);
            }
            let rows: Vec<[Cell; 2]> = fields
                .into_iter()
                .map(|(name, value)| [Cell::styled(format!("  {name}"), QUIET), value.into()])
                .collect();
            print_rows(&rows);
        }
    }
    Ok(())
}

/// The nine groups, in their order.
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

/// What the soul said that the agent spoke with.
async fn soul(store: &Store, org: OrgId, of: SoulRef) -> anyhow::Result<Vec<(String, String)>> {
    let versions = store.org(org).soul_versions(of.owner).await?;
    let found = versions.into_iter().find(|one| one.version == of.version);
    let soul = found.map(|one| one.soul).unwrap_or_default();
    Ok(flat(&serde_json::to_value(soul)?))
}

async fn find(store: &Store, show: &HarnessShow) -> anyhow::Result<(OrgId, RunRecord)> {
    for org in store.orgs().await? {
        if let Ok(stored) = store.org(org.id).run(show.run).await {
            return Ok((org.id, serde_json::from_str(&stored.data)?));
        }
    }
    bail!("no run {}; `ostler session show` lists the runs of a session", show.run)
}

/// The fields of a group, each with its value or said to be empty.
fn flat(fields: &Value) -> Vec<(String, String)> {
    let Value::Object(fields) = fields else { return Vec::new() };
    let mut all = Vec::new();
    for (name, value) in fields {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                for (below, value) in inner {
                    all.push((format!("{name}.{below}"), field(below, value)));
                }
            }
            value => all.push((name.clone(), field(name, value))),
        }
    }
    all
}

/// A value with its unit: what things cost is kept in millionths of a dollar.
fn field(name: &str, value: &Value) -> String {
    match value.as_u64().filter(|_| name.contains("cost")) {
        Some(micros) => format!("${:.2}", micros as f64 / 1e6),
        None => shown(value),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "(none)".into(),
        Value::String(text) if text.is_empty() => "(empty)".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "(none)".into(),
        Value::Object(fields) if fields.is_empty() => "(none)".into(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
