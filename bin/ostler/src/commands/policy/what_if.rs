//! `ostler policy what-if`.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use ostler_runtime::operations::Actor;
use ostler_runtime::operations::world::{PolicyReplay, ReplayWindow};

use super::replay_view::{print_replay, replay_json};
use super::{PolicyEdit, effect, plan_edit};
use crate::commands::apply::plan_files;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::Operator;

#[derive(Debug, Args)]
pub(crate) struct WhatIfArgs {
    /// World files, or folders with them, whose rules to try; instead of --allow, --deny
    /// and --remove
    #[arg(value_name = "PATH", conflicts_with_all = ["allow", "deny", "remove", "agent", "platform"])]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    edit: PolicyEdit,
    /// Calls of the last so many days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// Most calls to look at, the newest first
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &WhatIfArgs) -> anyhow::Result<()> {
    ensure!(
        !args.paths.is_empty() || args.edit.changes_something(),
        "say what to try: --deny TOOL, --allow TOOL, --remove TOOL, or a world file"
    );
    let operator = Operator::open(&args.installation).await?;
    let plan = match args.paths.is_empty() {
        true => plan_edit(&operator, &args.edit).await?,
        false => plan_files(&operator, &args.paths).await?,
    };
    let window = ReplayWindow { days: args.days, max_calls: args.limit as usize };
    let replay = operator.operations.replay_policy(Actor::Terminal, &plan, window).await?;
    if args.output.json {
        let replay = replay.unwrap_or_default();
        return crate::commands::print_json(&replay_json(&replay, window));
    }
    effect::print(&operator, &plan.live().resources, &plan.plan.after)?;
    match &replay {
        Some(replay) => print_replay(replay, window),
        None => anstream::println!("this changes no rule about tool calls"),
    }
    Ok(())
}

/// Replays the calls of the last week for a plan that is about to be shown.
pub(crate) async fn replay_for_plan(
    operator: &Operator,
    plan: &ostler_runtime::operations::world::CheckedPlan,
) -> anyhow::Result<Option<(PolicyReplay, ReplayWindow)>> {
    let window = ReplayWindow::default();
    let replay = operator.operations.replay_policy(Actor::Terminal, plan, window).await?;
    Ok(replay.map(|replay| (replay, window)))
}
