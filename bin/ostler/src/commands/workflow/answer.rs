//! `ostler workflow answer`.

use clap::Args;

use super::{StepArgs, open_workflow, print_step};
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
    let StepArgs { workflow, task } = &args.step;
    let (operator, org, id) = open_workflow(&args.target, workflow).await?;
    operator.org(&org).answer_task(id, task, &args.text).await?;
    print_step(&args.target, &org, id, task, "answered")
}
