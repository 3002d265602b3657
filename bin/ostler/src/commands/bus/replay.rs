//! `ostler bus replay`.

use clap::Args;
use ostler_bus::DeadLetterFilter;
use ostler_bus::QueueName;
use ostler_domain::id::EnvelopeId;
use serde_json::json;

use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;

#[derive(Debug, Args)]
pub(crate) struct BusReplayArgs {
    /// Replay the dead letters of this queue
    #[arg(long, value_name = "QUEUE", required_unless_present = "all")]
    queue: Option<QueueName>,
    /// Replay only this message
    #[arg(long, value_name = "MESSAGE", requires = "queue")]
    message: Option<EnvelopeId>,
    /// Replay all dead letters
    #[arg(long, conflicts_with = "queue")]
    all: bool,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &BusReplayArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let replayed = client.runtime.bus().replay_dead_letters(selection(args)).await;
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

fn selection(args: &BusReplayArgs) -> DeadLetterFilter {
    match (&args.queue, args.message) {
        (Some(queue), Some(id)) => DeadLetterFilter::One { queue: queue.clone(), id },
        (Some(queue), None) => DeadLetterFilter::Queue(queue.clone()),
        (None, _) => DeadLetterFilter::All,
    }
}
