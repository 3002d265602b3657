//! `ostler bus dead-letters`.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::queue_agent::BusDeadLetter;
use ostler_bus::QueueName;

use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
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
    let limit = args.limit.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(args.queue.as_ref().map(|queue| ("queue", queue.as_str())));
    let page: Page<BusDeadLetter> = with_queues(&args.bus, async |queues| {
        queues.org.query(&["bus-dead-letters"], &query).await
    })
    .await?;
    let dead_letters = page.items;
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

fn row(dead_letter: &BusDeadLetter) -> [Cell; 5] {
    let cause = &dead_letter.cause;
    [
        Cell::id(&dead_letter.id),
        cause.queue.as_str().into(),
        cause.attempts.to_string().into(),
        cause.class.as_str().into(),
        cause.reason.as_str().into(),
    ]
}
