//! `ostler workflow signal`.

use anyhow::Context as _;
use clap::Args;
use ostler_domain::id::EventId;
use ostler_domain::workflow::EventName;
use ostler_store::PublishOutcome;
use serde_json::{Value, json};

use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct WorkflowSignalArgs {
    /// Name of the event
    #[arg(value_name = "NAME")]
    name: EventName,
    /// Payload as JSON; it becomes the result of the step
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Id of the event; an event with the same id is published only once
    #[arg(long, value_name = "ID")]
    id: Option<EventId>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowSignalArgs) -> anyhow::Result<()> {
    let payload = args.payload.as_deref().map(serde_json::from_str).transpose();
    let payload: Value = payload.context("--payload is not JSON")?.unwrap_or_default();
    let (operator, org) = open_org(&args.target).await?;
    let operations = operator.org(&org);
    let published = operations.publish_event(args.id, args.name.clone(), &payload).await?;
    let (json, text) = match &published {
        PublishOutcome::Delivered { workflow, task } => (
            json!({"published": "reached", "workflow": workflow, "task": task}),
            format!("{task} of {workflow} continues"),
        ),
        PublishOutcome::Stored => {
            (json!({"published": "kept"}), "no step waits for it yet; it is stored".to_owned())
        }
        PublishOutcome::Duplicate => {
            (json!({"published": "repeat"}), "it was published before".to_owned())
        }
    };
    print_result(&args.target.output, &json, &text)
}
