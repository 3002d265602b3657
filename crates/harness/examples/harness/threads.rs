//! Threads: conversations that are kept, searched, copied and deleted.

use super::{Printed, harness};

pub(super) async fn run() -> Printed {
    let harness = harness("default: Noted.").await?.build()?;
    harness.init().await?;
    let pears = harness.create_thread(Some("Pears")).await?;
    harness.send_message("Pears are ripe in September.").await?;
    harness.create_thread(Some("Apples")).await?;
    harness.send_message("Apples are ripe in October.").await?;
    let found = harness.search_threads("september").await?;
    harness.switch_thread(pears.id).await?;
    let fork = harness.fork_thread(1, Some("Pears again")).await?;
    let copied = harness.messages(fork.id, 0, 10).await?.len();
    harness.delete_thread(pears.id).await?;
    let mut left: Vec<_> =
        harness.list_threads().await?.into_iter().filter_map(|thread| thread.title).collect();
    left.sort();
    Ok(format!("found {}, copied {copied} message, left {}", found.len(), left.join(" and ")))
}
