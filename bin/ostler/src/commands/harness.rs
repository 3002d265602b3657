//! `ostler harness show`: what an agent worked in.

use anyhow::bail;
use ostler_runtime::talk::run::RunRecord;
use ostler_store::Store;
use serde_json::Value;

use crate::cli::talk::{Harness, HarnessShow};
use crate::home::Home;
use crate::screen::{Cell, HEADER, QUIET, print_rows};

pub(crate) async fn run(command: &Harness) -> anyhow::Result<()> {
    let Harness::Show(show) = command;
    let run = find(show).await?;
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
        let Value::Object(groups) = serde_json::to_value(&turn.harness)? else { continue };
        for (group, fields) in groups {
            anstream::println!("{HEADER}{}{HEADER:#}", group.replace('_', " "));
            let rows: Vec<[Cell; 2]> = flat(&fields)
                .into_iter()
                .map(|(name, value)| [Cell::styled(format!("  {name}"), QUIET), value.into()])
                .collect();
            print_rows(&rows);
        }
    }
    Ok(())
}

async fn find(show: &HarnessShow) -> anyhow::Result<RunRecord> {
    let store = Store::open(&Home::find(&show.at)?.database()).await?;
    for org in store.orgs().await? {
        if let Ok(stored) = store.org(org.id).run(show.run).await {
            return Ok(serde_json::from_str(&stored.data)?);
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
                    all.push((format!("{name}.{below}"), shown(value)));
                }
            }
            value => all.push((name.clone(), shown(value))),
        }
    }
    all
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
