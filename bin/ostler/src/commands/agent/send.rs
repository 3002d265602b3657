//! `ostler agent send`.

use std::time::Duration;

use clap::Args;
use ostler_api::queue_agent::{AgentMessageRequest, SentAgentMessage};
use ostler_bus::Envelope;
use ostler_domain::queue_agent::name::AgentName;
use serde_json::json;

use crate::commands::args::{BusArgs, MessageArgs, parse_duration};
use crate::commands::reply::format_reply;
use crate::queue_api::{QueueApi, with_queues};
use crate::screen::{DIM, HEADER};

#[derive(Debug, Args)]
pub(crate) struct AgentSendArgs {
    /// Agent
    #[arg(value_name = "AGENT")]
    name: AgentName,
    #[command(flatten)]
    message: MessageArgs,
    /// Do not wait for a reply
    #[arg(long)]
    no_reply: bool,
    /// Agent that has to approve this first; see `ostler plan`
    #[arg(long, value_name = "AGENT")]
    approver: Option<AgentName>,
    /// Time to wait for the reply, at most five minutes
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &AgentSendArgs) -> anyhow::Result<()> {
    let SentAgentMessage { message, reference, reply } =
        with_queues(&args.bus, async |queues| send(queues, args).await).await?;
    if args.bus.output.json {
        let sent = json!({ "message": message, "reference": reference, "reply": reply });
        return crate::commands::print_json(&sent);
    }
    anstream::println!("{HEADER}{reference}{HEADER:#}  sent to {}", args.name);
    if let Some(reply) = reply {
        let reply: Envelope = serde_json::from_value(reply)?;
        let (answer, reason) = format_reply(&reply);
        anstream::println!("  {answer}  {DIM}{reason}{DIM:#}");
    }
    Ok(())
}

async fn send(queues: &QueueApi, args: &AgentSendArgs) -> anyhow::Result<SentAgentMessage> {
    let AgentSendArgs { name, message, approver, .. } = args;
    let wait = (!args.no_reply).then_some(args.timeout);
    let request = AgentMessageRequest {
        text: message.text.clone(),
        message_type: message.kind.as_str().to_owned(),
        approver: approver.clone(),
        wait_ms: wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
    };
    queues.start([name]).await?;
    let path = ["queue-agents", name.as_str(), "messages"];
    let sent = queues.org.post_waiting(&path, &request, wait.unwrap_or_default()).await?;
    if wait.is_none() {
        queues.wait_until_handled([name]).await?;
    }
    Ok(sent)
}
