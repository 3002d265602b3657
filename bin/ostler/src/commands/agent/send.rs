//! `ostler agent send`.

use std::sync::Arc;

use ostler_bus::Envelope;
use serde_json::json;

use crate::cli::queue::AgentSend;
use crate::commands::team::answer::words;
use crate::desk::Desk;
use crate::screen::{HEADER, QUIET};

pub(crate) async fn run(command: &AgentSend) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let message = desk.message(&command.saying).await?;
    let (id, code) = (message.message.id, message.reference);
    let sent = send(&desk, command, message).await;
    desk.close().await?;
    let reply = sent?;
    if command.reach.output.json {
        let sent = json!({ "message": id, "reference": code, "reply": reply });
        return crate::commands::print_json(&sent);
    }
    anstream::println!("{HEADER}{code}{HEADER:#}  sent to {}", command.name);
    if let Some(reply) = reply {
        let (words, reason) = words(&reply);
        anstream::println!("  {words}  {QUIET}{reason}{QUIET:#}");
    }
    Ok(())
}

async fn send(
    desk: &Desk,
    command: &AgentSend,
    message: Envelope,
) -> anyhow::Result<Option<Arc<Envelope>>> {
    let name = &command.name;
    if let Some(asleep) = desk.wake([name]).await?.pop() {
        return Err(asleep.why.into());
    }
    if command.no_reply {
        desk.runtime.send(name, message).await?;
        desk.settle([name]).await?;
        return Ok(None);
    }
    Ok(Some(desk.runtime.ask(name, message, command.timeout).await?))
}
