//! `ostler harness replay`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use ostler_api::run::{ReplayPlan, ReplayRequest, RunReplay, StoredRun, TurnReplay};
use ostler_domain::run_diff::{CallChange, PathCall};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_runtime::records::run::RunRecord;

use super::{RunArgs, find_run};
use crate::screen::{DIM, HEADER, WARNING, count, print_paragraph};

/// How long a replay may take.
const MODEL_TIME: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Model of all agents [default: the models of the run]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// File with another tool policy of the organization: TOML or JSON with the lists
    /// `allow` and `deny` [default: the policy of the run]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Pay for the model
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(args: &ReplayArgs) -> anyhow::Result<()> {
    let policy = args.policy.as_deref().map(read_policy).transpose()?;
    let (org, StoredRun { record, .. }) = find_run(&args.run).await?;
    let run: RunRecord = serde_json::from_value(record)?;
    let id = run.id.to_string();
    let path = ["runs", id.as_str(), "replay"];
    let model: Vec<_> = args.model.as_deref().map(|model| ("model", model)).into_iter().collect();
    announce(&org.query(&path, &model).await?, args.yes)?;
    let request = ReplayRequest { model: args.model.clone(), policy };
    let replay: RunReplay = org.post_waiting(&path, &request, MODEL_TIME).await?;
    if args.run.output.json {
        return crate::commands::print_json(&replay);
    }
    print_paragraph(
        "Each turn was run again from its recorded start. Tools answered with their recorded \
         results; nothing was sent, changed or stored.",
        DIM,
    );
    let names = org.agent_names().await?;
    for turn in &replay.turns {
        let name = names.find(turn.agent).map(ToOwned::to_owned);
        print_turn(turn, &name.unwrap_or_else(|| turn.agent.to_string()));
    }
    if !replay.notes.is_empty() {
        anstream::println!();
    }
    for note in &replay.notes {
        print_paragraph(&format!("Note: {note}."), DIM);
    }
    Ok(())
}

/// Says what a model costs before it is asked.
fn announce(plan: &ReplayPlan, agreed: bool) -> anyhow::Result<()> {
    if plan.estimate.is_zero() {
        return Ok(());
    }
    let model = plan.models.first().map_or("the default model", String::as_str);
    let cost = count(plan.estimate.get(), "credit");
    if !agreed {
        bail!("asking {model} again costs the organization about {cost}; repeat with --yes");
    }
    anstream::eprintln!("Asking {model} again; it costs the organization about {cost}.");
    Ok(())
}

fn read_policy(path: &Path) -> anyhow::Result<ToolPolicy> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the policy {}", path.display()))?;
    let policy = match path.extension().is_some_and(|one| one == "json") {
        true => serde_json::from_str(&text).map_err(anyhow::Error::from),
        false => toml::from_str(&text).map_err(anyhow::Error::from),
    };
    policy.with_context(|| {
        format!("{} is no tool policy: it has the lists `allow` and `deny`", path.display())
    })
}

fn print_turn(turn: &TurnReplay, agent: &str) {
    let (recorded, replayed) = (&turn.recorded, &turn.replayed);
    anstream::println!("\n{HEADER}{agent}{HEADER:#}");
    if turn.diff.is_same() {
        anstream::println!("  nothing changes");
    }
    for change in &turn.diff.calls {
        match change {
            CallChange::Same { call } => anstream::println!("  = {}", describe(call)),
            CallChange::Decision { recorded, replayed } => {
                anstream::println!("  {WARNING}! {}{WARNING:#}", describe(replayed));
                anstream::println!("    recorded: {} ({})", recorded.decision, recorded.why);
            }
            CallChange::Missing { call } => {
                anstream::println!("  {WARNING}- {}{WARNING:#}", describe(call));
            }
            CallChange::New { call } => {
                anstream::println!("  {WARNING}+ {}{WARNING:#}", describe(call));
            }
        }
    }
    if let Some(after) = turn.diff.left_after {
        anstream::println!("  left the recorded path after {}", count(after as u64, "call"));
    }
    if turn.diff.end_changes {
        anstream::println!("  end: {}, recorded: {}", replayed.end, recorded.end);
    }
    if turn.diff.words_change {
        anstream::println!("  recorded words:");
        print_paragraph(&format!("    {}", recorded.words.trim()), DIM);
        anstream::println!("  words now:");
        print_paragraph(&format!("    {}", replayed.words.trim()), DIM);
    }
    let (before, after) = (recorded.credits.get(), replayed.credits.get());
    anstream::println!("  cost: {}, recorded: {before}", count(after, "credit"));
}

fn describe(call: &PathCall) -> String {
    let outcome = call.outcome.as_deref().unwrap_or("no result");
    format!("{} {} → {} ({}): {outcome}", call.tool, call.arguments, call.decision, call.why)
}
