//! `ostler workflow approve`.

use anyhow::Context as _;
use clap::Args;
use ostler_api::workflow::TaskAnswer;
use serde_json::Value;

use super::{StepArgs, send_answer};
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkflowApproveArgs {
    #[command(flatten)]
    step: StepArgs,
    /// Run the call with these arguments instead, as JSON
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowApproveArgs) -> anyhow::Result<()> {
    let arguments = args.with.as_deref().map(serde_json::from_str).transpose();
    let arguments: Option<Value> = arguments.context("--with is not JSON")?;
    let task = args.step.task.to_string();
    let answer = TaskAnswer::Approve { task, arguments };
    send_answer(&args.target, &args.step, &answer, "approved").await
}
