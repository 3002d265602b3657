//! `ostler workflow cancel`.

use serde_json::json;

use super::{WorkflowArgs, open_workflow, print_resume};

pub(super) async fn run(args: &WorkflowArgs) -> anyhow::Result<()> {
    let (operator, org, id) = open_workflow(&args.target, &args.workflow).await?;
    operator.org(&org).cancel_workflow(id).await?;
    if args.target.output.json {
        return crate::commands::print_json(&json!({"workflow": id, "said": "cancelled"}));
    }
    anstream::println!("cancelled; a running `ostler serve` or `ostler worker` undoes its steps");
    print_resume(&org, id);
    Ok(())
}
