//! `ostler workflow ls`.

use super::show::style;
use super::{LISTED, open};
use crate::cli::operate::In;
use crate::commands::session::view::clock;
use crate::screen::{Cell, HEADER, QUIET, print_rows};

pub(super) async fn run(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let all = desk.office(&org).workflows(None, LISTED).await?;
    if place.output.json {
        return crate::commands::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("no workflow was started in {}", org.name);
        return Ok(());
    }
    let header = ["workflow", "name", "state", "steps", "waits for", "credits", "started"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|one| {
        let waits: Vec<String> = one.waits.iter().map(ToString::to_string).collect();
        [
            one.id.to_string().into(),
            one.name.as_str().into(),
            Cell::styled(one.status.as_str(), style(&one.status)),
            format!("{}/{}", one.over, one.steps).into(),
            waits.join(", ").into(),
            one.spent.to_string().into(),
            clock(one.created_at).into(),
        ]
    }));
    print_rows(&rows);
    if all.len() == LISTED as usize {
        anstream::println!("{QUIET}the newest {LISTED}{QUIET:#}");
    }
    Ok(())
}
