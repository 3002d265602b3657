//! `ostler workflow answer`.

use clap::Args;
use ostler_api::workflow::TaskAnswer;

use super::{StepArgs, send_answer};
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkflowAnswerArgs {
    #[command(flatten)]
    step: StepArgs,
    /// Answer
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowAnswerArgs) -> anyhow::Result<()> {
    let (task, text) = (args.step.task.to_string(), args.text.clone());
    send_answer(&args.target, &args.step, &TaskAnswer::Text { task, text }, "answered").await
}
