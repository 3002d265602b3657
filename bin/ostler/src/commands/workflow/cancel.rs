//! `ostler workflow cancel`.

use serde_json::json;

use super::{WorkflowArgs, find, print_resume};
use crate::api_client::{Nothing, open_org};

pub(super) async fn run(args: &WorkflowArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.workflow).await?;
    org.post::<Nothing>(&["workflows", &id.to_string(), "cancel"], &()).await?;
    if args.target.output.json {
        return crate::commands::print_json(&json!({"workflow": id, "said": "cancelled"}));
    }
    anstream::println!("cancelled; a running `ostler serve` or `ostler worker` undoes its steps");
    print_resume(&org.org.slug, id);
    Ok(())
}
