//! `ostler agent send`.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ostler_bus::Envelope;
use ostler_domain::queue_agent::name::AgentName;
use serde_json::json;

use crate::agent_client::AgentClient;
use crate::commands::args::{BusArgs, MessageArgs, parse_duration};
use crate::commands::reply::format_reply;
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
    /// Time to wait for the reply
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &AgentSendArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let message = client.new_message(&args.message).await?;
    let (id, code) = (message.message.id, message.reference);
    let sent = send(&client, args, message).await;
    client.close().await?;
    let reply = sent?;
    if args.bus.output.json {
        let sent = json!({ "message": id, "reference": code, "reply": reply });
        return crate::commands::print_json(&sent);
    }
    anstream::println!("{HEADER}{code}{HEADER:#}  sent to {}", args.name);
    if let Some(reply) = reply {
        let (answer, reason) = format_reply(&reply);
        anstream::println!("  {answer}  {DIM}{reason}{DIM:#}");
    }
    Ok(())
}

async fn send(
    client: &AgentClient,
    args: &AgentSendArgs,
    message: Envelope,
) -> anyhow::Result<Option<Arc<Envelope>>> {
    let name = &args.name;
    if let Some(unavailable) = client.start([name]).await?.pop() {
        return Err(unavailable.error.into());
    }
    if args.no_reply {
        client.runtime.send(name, message).await?;
        client.wait_until_handled([name]).await?;
        return Ok(None);
    }
    Ok(Some(client.runtime.ask(name, message, args.timeout).await?))
}
