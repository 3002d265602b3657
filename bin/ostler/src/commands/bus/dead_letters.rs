//! `ostler bus dead-letters`.

use ostler_bus::{DeadLetter, Selection};

use crate::cli::queue::BusDeadLetters;
use crate::desk::Desk;
use crate::screen::{Cell, HEADER, print_rows};

pub(crate) async fn run(command: &BusDeadLetters) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let which = command.queue.clone().map_or(Selection::All, Selection::Queue);
    let letters = desk.runtime.bus().dead_letters(which, command.limit).await;
    desk.close().await?;
    let letters = letters?;
    if command.reach.output.json {
        return crate::commands::print_json(&letters);
    }
    if letters.is_empty() {
        anstream::println!("no dead letters");
        return Ok(());
    }
    let header = ["message", "queue", "attempts", "class", "why"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(letters.iter().map(row));
    print_rows(&rows);
    Ok(())
}

fn row(letter: &DeadLetter) -> [Cell; 5] {
    let death = &letter.death;
    [
        letter.id.to_string().into(),
        death.queue.as_str().into(),
        death.attempts.to_string().into(),
        death.class.as_str().into(),
        death.reason.as_str().into(),
    ]
}
