//! `ostler bus replay`.

use ostler_bus::Selection;
use serde_json::json;

use crate::cli::queue::BusReplay;
use crate::desk::Desk;

pub(crate) async fn run(command: &BusReplay) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let replayed = desk.runtime.bus().replay(which(command)).await;
    desk.close().await?;
    let replayed = replayed?;
    if command.reach.output.json {
        return crate::commands::print_json(&json!({ "replayed": replayed }));
    }
    match replayed {
        0 => anstream::println!("no dead letters of that kind"),
        1 => anstream::println!("1 dead letter is back in its queue"),
        count => anstream::println!("{count} dead letters are back in their queues"),
    }
    Ok(())
}

fn which(command: &BusReplay) -> Selection {
    match (&command.queue, command.message) {
        (Some(queue), Some(id)) => Selection::One { queue: queue.clone(), id },
        (Some(queue), None) => Selection::Queue(queue.clone()),
        (None, _) => Selection::All,
    }
}
