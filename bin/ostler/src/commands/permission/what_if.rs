//! `ostler permission what-if`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::gate::permission::{PermissionPolicy, PermissionQuery, PermissionSource};
use ostler_domain::id::OrgId;
use ostler_domain::tool::{ToolCategory, ToolName};
use ostler_harness::{LoadedPermissions, PermissionFiles, ThreadCall, open_storage, thread_calls};
use serde_json::{Value, json};

use super::files::{KnownTools, PermissionArgs, decide, threads_file};
use crate::commands::run::RUN_RESOURCE;
use crate::commands::{print_json, rfc3339};
use crate::screen::{Cell, DIM, HEADER, count, print_paragraph, print_rows, shorten};

/// How many changes are shown.
const SHOWN: usize = 20;
/// How much of the arguments is shown.
const ARGUMENTS_WIDTH: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct WhatIfArgs {
    /// Permissions file that takes the place of yours
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File that threads are kept in [default: threads.db in the home folder of ostler
    /// or, without one, in ~/.local/share/ostler]
    #[arg(long, value_name = "FILE")]
    threads: Option<PathBuf>,
    /// Number of threads to look at, the newest first
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    #[command(flatten)]
    permission: PermissionArgs,
}

/// A call that would be decided differently.
struct Change<'a> {
    call: &'a ThreadCall,
    now: (PermissionPolicy, PermissionSource),
    then: (PermissionPolicy, PermissionSource),
}

pub(super) async fn run(args: &WhatIfArgs) -> anyhow::Result<()> {
    let (files, tools) = (args.permission.files()?, KnownTools::load()?);
    let category_of = |tool: &str| tools.category(tool);
    anyhow::ensure!(args.file.exists(), "there is no {}", args.file.display());
    let now = files.load(&category_of)?;
    let other = PermissionFiles { user: Some(args.file.clone()), ..files };
    let then = other.load(&category_of)?;
    let path = threads_file(args.threads.as_deref(), args.permission.home.as_deref())?;
    anyhow::ensure!(
        path.exists(),
        "no threads are kept in {}; `ostler run --thread new` begins one",
        path.display()
    );
    let store = open_storage(&format!("sqlite:{}", path.display()))
        .await
        .with_context(|| format!("cannot open {}", path.display()))?;
    let calls = thread_calls(&store, OrgId::from_u128(0), RUN_RESOURCE, args.limit).await?;
    let changes = compare(&calls, [&now, &then], &tools);
    if args.permission.output.json {
        let list: Vec<Value> = changes.iter().map(Change::to_json).collect();
        return print_json(&json!({
            "calls": calls.len(),
            "changed": changes.len(),
            "counts": counts(&changes),
            "changes": list,
            "notes": then.failures.iter().chain(&then.notes).collect::<Vec<_>>(),
        }));
    }
    print(&calls, &changes);
    for note in then.failures.iter().chain(&then.notes) {
        print_paragraph(note, DIM);
    }
    Ok(())
}

fn compare<'a>(
    calls: &'a [ThreadCall],
    [now, then]: [&LoadedPermissions; 2],
    tools: &KnownTools,
) -> Vec<Change<'a>> {
    let changes = calls.iter().filter_map(|call| {
        let tool: ToolName = call.tool.parse().ok()?;
        let category = tools.category(&call.tool).unwrap_or(ToolCategory::Other);
        let query = PermissionQuery { tool: &tool, category, arguments: &call.arguments };
        let [now, then] = [now, then].map(|loaded| decide(loaded, query));
        (now.0 != then.0).then_some(Change { call, now, then })
    });
    changes.collect()
}

/// Counts the changes by tool and decision.
fn counts(changes: &[Change<'_>]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for change in changes {
        let (now, then) = (change.now.0.name(), change.then.0.name());
        *counts.entry(format!("{}: {now} → {then}", change.call.tool)).or_default() += 1;
    }
    counts
}

fn print(calls: &[ThreadCall], changes: &[Change<'_>]) {
    let all = count(calls.len() as u64, "recorded call");
    anstream::println!("{} of {all} would be decided differently", changes.len());
    for (change, number) in counts(changes) {
        anstream::println!("  {number} × {change}");
    }
    if changes.is_empty() {
        return;
    }
    anstream::println!();
    let header = ["tool", "arguments", "now", "then", "by"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(changes.iter().take(SHOWN).map(|change| {
        [
            change.call.tool.as_str().into(),
            shorten(&change.call.arguments.to_string(), ARGUMENTS_WIDTH).into(),
            change.now.0.name().into(),
            change.then.0.name().into(),
            change.then.1.to_string().into(),
        ]
    }));
    print_rows(&rows);
    if changes.len() > SHOWN {
        print_paragraph(&format!("{} more; --json lists all", changes.len() - SHOWN), DIM);
    }
}

impl Change<'_> {
    fn to_json(&self) -> Value {
        let side = |(policy, source): &(PermissionPolicy, PermissionSource)| {
            json!({"verdict": policy, "rung": source.rung(), "reason": source.to_string(),
                "rule": source.rule()})
        };
        json!({
            "thread": self.call.thread,
            "at": rfc3339(self.call.at),
            "subagent": self.call.subagent,
            "tool": self.call.tool,
            "arguments": self.call.arguments,
            "now": side(&self.now),
            "then": side(&self.then),
        })
    }
}
