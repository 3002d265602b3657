//! `ostler policy what-if`.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use ostler_api::resource::{CallReplay, CallWindow};

use super::replay_view::{print_replay, replay_json};
use super::{PolicyEdit, effect, plan_edit};
use crate::api_client::ApiClient;
use crate::commands::apply::plan_files;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::resource::live_resources;

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
    let api = ApiClient::open(&args.installation).await?;
    let window = CallWindow { days: args.days, calls: args.limit };
    let before = live_resources(&api).await?;
    let (wanted, planned) = match args.paths.is_empty() {
        true => plan_edit(&api, &args.edit, Some(window)).await?,
        false => plan_files(&api, &args.paths, window).await?,
    };
    let replay = &planned.plan.what_if;
    if args.output.json {
        let nothing =
            CallReplay { days: args.days, calls: 0, truncated: false, changes: Vec::new() };
        return crate::commands::print_json(&replay_json(replay.as_ref().unwrap_or(&nothing)));
    }
    effect::print(&api, &before, &effect::after(&before, &wanted, &planned.plan)?).await?;
    match replay {
        Some(replay) => print_replay(replay),
        None => anstream::println!("this changes no rule about tool calls"),
    }
    Ok(())
}
