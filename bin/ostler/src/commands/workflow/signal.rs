//! `ostler workflow signal`.

use anyhow::Context as _;
use clap::Args;
use ostler_api::workflow::{PublishEventRequest, PublishedEvent};
use ostler_domain::id::EventId;
use ostler_domain::workflow::EventName;
use serde_json::Value;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

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
    let payload: Option<Value> = payload.context("--payload is not JSON")?;
    let org = open_org(&args.target).await?;
    let request = PublishEventRequest { id: args.id, name: args.name.to_string(), payload };
    let published: PublishedEvent = org.post(&["workflow-events"], &request).await?;
    let text = match &published {
        PublishedEvent::Reached { workflow, task } => format!("{task} of {workflow} continues"),
        PublishedEvent::Kept => "no step waits for it yet; it is stored".to_owned(),
        PublishedEvent::Repeat => "it was published before".to_owned(),
    };
    print_result(&args.target.output, &serde_json::to_value(&published)?, &text)
}
