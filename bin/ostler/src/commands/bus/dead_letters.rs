//! `ostler bus dead-letters`.

use clap::Args;
use ostler_bus::QueueName;
use ostler_bus::{DeadLetter, DeadLetterFilter};

use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct BusDeadLettersArgs {
    /// List only dead letters of this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<QueueName>,
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &BusDeadLettersArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let selection = args.queue.clone().map_or(DeadLetterFilter::All, DeadLetterFilter::Queue);
    let dead_letters = client.runtime.bus().dead_letters(selection, args.limit).await;
    client.close().await?;
    let dead_letters = dead_letters?;
    if args.bus.output.json {
        return crate::commands::print_json(&dead_letters);
    }
    if dead_letters.is_empty() {
        anstream::println!("no dead letters");
        return Ok(());
    }
    let header = ["message", "queue", "attempts", "class", "reason"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(dead_letters.iter().map(row));
    print_rows(&rows);
    Ok(())
}

fn row(dead_letter: &DeadLetter) -> [Cell; 5] {
    let cause = &dead_letter.cause;
    [
        Cell::id(&dead_letter.id),
        cause.queue.as_str().into(),
        cause.attempts.to_string().into(),
        cause.class.as_str().into(),
        cause.reason.as_str().into(),
    ]
}
