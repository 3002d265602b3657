//! `ostler workflow skip`, `pause`, `continue` and `retry`.

use clap::Args;
use ostler_api::workflow::{ChangeStepRequest, RetriedWorkflow, StepChange};
use ostler_domain::workflow::{StepName, Task};
use serde_json::json;

use super::{WorkflowArgs, find, print_resume, print_step};
use crate::api_client::{Nothing, open_org};
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
pub(super) async fn run(args: &WorkflowControlArgs, change: StepChange) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.workflow).await?;
    let request = ChangeStepRequest { step: args.step.to_string(), change };
    org.post::<Nothing>(&["workflows", &id.to_string(), "steps"], &request).await?;
    let text = match change {
        StepChange::Skip => "skipped",
        StepChange::Pause => "paused",
        StepChange::Continue => "continued",
    };
    print_step(&args.target, &org.org.slug, id, &Task::new(args.step.clone()), text)
}

/// Runs a failed workflow again.
pub(super) async fn retry(args: &WorkflowArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.workflow).await?;
    let path = ["workflows", &id.to_string(), "retry"];
    let RetriedWorkflow { steps } = org.post(&path, &()).await?;
    if args.target.output.json {
        return crate::commands::print_json(&json!({"workflow": id, "steps": steps}));
    }
    anstream::println!("runs again: {}", steps.join(", "));
    print_resume(&org.org.slug, id);
    Ok(())
}
