//! `ostler worklist answer`.

use anyhow::anyhow;
use clap::Args;
use ostler_domain::id::EnvelopeId;
use ostler_runtime::agents::ReplyDelivery;
use serde_json::json;

use crate::agent_client::{AgentClient, with_client};
use crate::commands::args::{BusArgs, match_id};
use crate::refused_command::NotHere;
use crate::screen::HEADER;

#[derive(Debug, Args)]
pub(crate) struct WorklistAnswerArgs {
    /// Message, by id or the end of its id
    #[arg(value_name = "MESSAGE")]
    message: String,
    /// Answer
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &WorklistAnswerArgs) -> anyhow::Result<()> {
    let (item, delivery) = with_client(&args.bus, async |client| {
        let id = find(client, &args.message).await?;
        Ok(client.operations().answer_work_item(&client.runtime, id, &args.text).await?)
    })
    .await?;
    let told = match delivery {
        ReplyDelivery::Sent => "answered",
        ReplyDelivery::NotWanted => "done; the sender wants no answer",
        ReplyDelivery::TooLate => "taken from the list, but the sender waits no longer",
    };
    if args.bus.output.json {
        let sent = delivery == ReplyDelivery::Sent;
        let answered = json!({ "agent": item.agent, "message": item.message.message.id,
            "reference": item.message.reference, "sent": sent });
        return crate::commands::print_json(&answered);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {told}", item.message.reference);
    Ok(())
}

/// Finds a message on a work list by its id or the end of it.
async fn find(client: &AgentClient, text: &str) -> anyhow::Result<EnvelopeId> {
    let items = client.operations().work_items(None).await?;
    let known: Vec<EnvelopeId> = items.iter().map(|item| item.message.message.id).collect();
    match_id(text, &known)?.ok_or_else(|| {
        anyhow!(NotHere(format!("no message {text} waits for a person; see `ostler worklist ls`")))
    })
}
