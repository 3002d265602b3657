//! `ostler agent send`.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ostler_bus::Envelope;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::require_approval;
use serde_json::json;

use crate::agent_client::{AgentClient, with_client};
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
    /// Agent that has to approve this first; see `ostler plan`
    #[arg(long, value_name = "AGENT")]
    approver: Option<AgentName>,
    /// Time to wait for the reply
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &AgentSendArgs) -> anyhow::Result<()> {
    let (id, code, reply) = with_client(&args.bus, async |client| {
        let message = client.new_message(&args.message).await?;
        let (id, code) = (message.message.id, message.reference);
        Ok((id, code, send(client, args, message).await?))
    })
    .await?;
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
    mut message: Envelope,
) -> anyhow::Result<Option<Arc<Envelope>>> {
    let name = &args.name;
    if let Some(approver) = &args.approver {
        client.runtime.registry().get(approver).await?.ok_or_else(|| {
            anyhow::anyhow!("no agent `{approver}` is registered that could approve this")
        })?;
        message = require_approval(message, name, approver);
    }
    if let Some(error) = client.start([name]).await?.pop() {
        return Err(error.into());
    }
    if args.no_reply {
        client.runtime.send(name, message).await?;
        client.wait_until_handled([name]).await?;
        return Ok(None);
    }
    client.check_is_served(name).await?;
    Ok(Some(client.runtime.ask(name, message, args.timeout).await?))
}
