//! `ostler bus replay`.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::queue_agent::{BusDeadLetter, ReplayBusRequest, ReplayedLetters};
use ostler_bus::QueueName;
use ostler_domain::id::EnvelopeId;

use crate::commands::args::{BusArgs, match_id};
use crate::queue_api::{QueueApi, with_queues};

/// The most dead letters that are searched for a message.
const SEARCH_LIMIT: &str = "200";

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
    let replayed = with_queues(&args.bus, async |queues| replay(queues, args).await).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&replayed);
    }
    match replayed.replayed {
        0 => anstream::println!("no matching dead letters"),
        1 => anstream::println!("1 dead letter is back in its queue"),
        count => anstream::println!("{count} dead letters are back in their queues"),
    }
    Ok(())
}

/// Puts the dead letters that the arguments select back.
async fn replay(queues: &QueueApi, args: &BusReplayArgs) -> anyhow::Result<ReplayedLetters> {
    let mut request =
        ReplayBusRequest { queue: args.queue.as_ref().map(ToString::to_string), message: None };
    if let (Some(queue), Some(message)) = (&args.queue, &args.message) {
        let query = [("limit", SEARCH_LIMIT), ("queue", queue.as_str())];
        let found: Page<BusDeadLetter> = queues.org.query(&["bus-dead-letters"], &query).await?;
        let known: Vec<EnvelopeId> = found.items.iter().map(|letter| letter.id).collect();
        request.message = match_id(message, &known)?;
        if request.message.is_none() {
            return Ok(ReplayedLetters { replayed: 0 });
        }
    }
    queues.org.post(&["bus-dead-letters", "replay"], &request).await
}
