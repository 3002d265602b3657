//! `ostler worklist answer`.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::queue_agent::{AnswerDelivery, AnsweredWork, WorkAnswerRequest, WorkItem};
use ostler_bus::Envelope;
use ostler_domain::id::EnvelopeId;
use serde_json::json;

use crate::api_client::not_here;
use crate::commands::args::{BusArgs, match_id};
use crate::queue_api::{QueueApi, with_queues};
use crate::screen::HEADER;

#[derive(Debug, Args)]
pub(crate) struct WorklistAnswerArgs {
    /// Message, by id or the end of its id
    #[arg(value_name = "MESSAGE")]
    message: String,
    /// Answer
    #[arg(value_name = "TEXT")]
    text: String,
    /// Who answers, if the message is on the lists of several agents
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &WorklistAnswerArgs) -> anyhow::Result<()> {
    let answered = with_queues(&args.bus, async |queues| {
        let id = find(queues, &args.message).await?.to_string();
        let request = WorkAnswerRequest { text: args.text.clone(), agent: args.agent.clone() };
        let answered: AnsweredWork =
            queues.org.post(&["work-items", &id, "answer"], &request).await?;
        Ok(answered)
    })
    .await?;
    let envelope: Envelope = serde_json::from_value(answered.item.message)?;
    let told = match answered.delivery {
        AnswerDelivery::Sent => "answered",
        AnswerDelivery::NotWanted => "done; the sender wants no answer",
        AnswerDelivery::TooLate => "taken from the list, but the sender waits no longer",
    };
    if args.bus.output.json {
        let sent = answered.delivery == AnswerDelivery::Sent;
        let answered = json!({ "agent": answered.item.agent, "message": envelope.message.id,
            "reference": envelope.reference, "sent": sent });
        return crate::commands::print_json(&answered);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  {told}", envelope.reference);
    Ok(())
}

/// Finds a message on a work list by its id or the end of it.
async fn find(queues: &QueueApi, text: &str) -> anyhow::Result<EnvelopeId> {
    let page: Page<WorkItem> = queues.org.get(&["work-items"]).await?;
    let known = page.items.into_iter().map(|item| {
        let envelope: Envelope = serde_json::from_value(item.message)?;
        Ok(envelope.message.id)
    });
    let known: Vec<EnvelopeId> = known.collect::<serde_json::Result<_>>()?;
    match_id(text, &known)?.ok_or_else(|| {
        not_here(format!("no message {text} waits for a person; see `ostler worklist ls`"))
    })
}
