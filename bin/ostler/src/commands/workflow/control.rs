//! `ostler workflow skip`, `pause`, `continue` and `retry`.

use clap::Args;
use ostler_domain::workflow::{StepControl, StepName, Task};
use serde_json::json;

use super::{WorkflowArgs, open_workflow, print_resume, print_step};
use crate::commands::args::OrgArgs;

/// The step that a command changes.
#[derive(Debug, Args)]
pub(crate) struct WorkflowControlArgs {
    /// Workflow, by id or the end of its id
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    /// Step, with all its parts
    #[arg(value_name = "STEP")]
    step: StepName,
    #[command(flatten)]
    target: OrgArgs,
}

/// Skips, pauses or continues a step.
pub(super) async fn run(args: &WorkflowControlArgs, control: StepControl) -> anyhow::Result<()> {
    let (operator, org, id) = open_workflow(&args.target, &args.workflow).await?;
    operator.org(&org).control_step(id, &args.step, control).await?;
    let text = match control {
        StepControl::Skip => "skipped",
        StepControl::Pause => "paused",
        StepControl::Continue => "continued",
    };
    print_step(&args.target, &org.slug, id, &Task::new(args.step.clone()), text)
}

/// Runs a failed workflow again.
pub(super) async fn retry(args: &WorkflowArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_workflow(&args.target, &args.workflow).await?;
    let steps = operator.org(&org).retry_workflow(id).await?;
    if args.target.output.json {
        return crate::commands::print_json(&json!({"workflow": id, "steps": steps}));
    }
    let names: Vec<&str> = steps.iter().map(StepName::as_str).collect();
    anstream::println!("runs again: {}", names.join(", "));
    print_resume(&org.slug, id);
    Ok(())
}
