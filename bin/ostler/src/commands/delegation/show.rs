//! `ostler delegation show`.

use ostler_domain::dispatch::delegation::Delegation;
use serde::Serialize;

use super::ls::{due, print_work, state};
use crate::cli::queue::DelegationShow;
use crate::desk::Desk;
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Serialize)]
struct Shown {
    work: Delegation,
    waits_for: Vec<Delegation>,
    blocks: Vec<Delegation>,
}

pub(crate) async fn run(command: &DelegationShow) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let shown = look(&desk, &command.work).await;
    desk.close().await?;
    let shown = shown?;
    if command.reach.output.json {
        return crate::commands::print_json(&shown);
    }
    print(&shown);
    Ok(())
}

async fn look(desk: &Desk, named: &str) -> anyhow::Result<Shown> {
    let work = super::find(desk, named).await?;
    let delegations = desk.runtime.delegations();
    let (mut waits_for, mut blocks) = (Vec::new(), Vec::new());
    for id in &work.blocked_by {
        waits_for.extend(delegations.get(*id).await?);
    }
    for id in delegations.blocks(work.id).await? {
        blocks.extend(delegations.get(id).await?);
    }
    Ok(Shown { work, waits_for, blocks })
}

fn print(shown: &Shown) {
    let work = &shown.work;
    print_rows(&[
        [Cell::styled(work.reference.to_string(), HEADER), state(work)],
        ["id".into(), work.id.to_string().into()],
        ["what".into(), work.description.as_str().into()],
        ["for".into(), work.assignee.as_str().into()],
        ["from".into(), work.delegated_by.as_str().into()],
        ["due".into(), due(work).into()],
    ]);
    for (title, list) in [("waits for", &shown.waits_for), ("before", &shown.blocks)] {
        if !list.is_empty() {
            anstream::println!("\n{title}");
            print_work(list);
        }
    }
}
