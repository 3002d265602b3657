//! `ostler bus replay`.

use clap::Args;
use ostler_bus::DeadLetterFilter;
use ostler_bus::QueueName;
use ostler_domain::id::EnvelopeId;
use serde_json::json;

use crate::agent_client::AgentClient;
use crate::commands::args::{BusArgs, match_id};

/// The most dead letters that are searched for a message.
const SEARCH_LIMIT: usize = 1000;

#[derive(Debug, Args)]
pub(crate) struct BusReplayArgs {
    /// Replay the dead letters of this queue
    #[arg(long, value_name = "QUEUE", required_unless_present = "all")]
    queue: Option<QueueName>,
    /// Replay only this message, by id or the end of its id
    #[arg(long, value_name = "MESSAGE", requires = "queue")]
    message: Option<String>,
    /// Replay all dead letters
    #[arg(long, conflicts_with = "queue")]
    all: bool,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &BusReplayArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let replayed = replay(&client, args).await;
    client.close().await?;
    let replayed = replayed?;
    if args.bus.output.json {
        return crate::commands::print_json(&json!({ "replayed": replayed }));
    }
    match replayed {
        0 => anstream::println!("no matching dead letters"),
        1 => anstream::println!("1 dead letter is back in its queue"),
        count => anstream::println!("{count} dead letters are back in their queues"),
    }
    Ok(())
}

/// Puts the dead letters that the arguments select back and returns how many there were.
async fn replay(client: &AgentClient, args: &BusReplayArgs) -> anyhow::Result<usize> {
    let bus = client.runtime.bus();
    let of_queue = args.queue.clone().map_or(DeadLetterFilter::All, DeadLetterFilter::Queue);
    let selection = match (&args.queue, &args.message) {
        (Some(queue), Some(message)) => {
            let dead_letters = bus.dead_letters(of_queue, SEARCH_LIMIT).await?;
            let known: Vec<EnvelopeId> = dead_letters.iter().map(|letter| letter.id).collect();
            let Some(id) = match_id(message, &known)? else { return Ok(0) };
            DeadLetterFilter::One { queue: queue.clone(), id }
        }
        _ => of_queue,
    };
    Ok(bus.replay_dead_letters(selection).await?)
}
