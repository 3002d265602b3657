//! Blocks of reference codes drawn by nodes.

use std::collections::BTreeSet;
use std::time::SystemTime;

use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::{Timestamp, UtcDay};
use ostler_store::Store;

use crate::on_every_backend;

fn today() -> UtcDay {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap()).utc_day()
}

on_every_backend!(
    /// X61: many nodes draw blocks concurrently, and no code is drawn twice.
    x61_concurrent_nodes_never_draw_the_same_reference_code
);
async fn x61_concurrent_nodes_never_draw_the_same_reference_code(store: &Store) {
    let nodes: Vec<_> = (0..20)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut block = store.draw_reference_codes(10).await.unwrap();
                // A block expires at midnight, so both possible days are tried.
                let days = [today(), today().next()];
                let codes = std::iter::from_fn(|| days.iter().find_map(|day| block.take(*day)));
                codes.collect::<Vec<ReferenceCode>>()
            })
        })
        .collect();
    let mut codes = Vec::new();
    for node in nodes {
        codes.extend(node.await.unwrap());
    }
    let different: BTreeSet<ReferenceCode> = codes.iter().copied().collect();
    assert_eq!((codes.len(), different.len()), (200, 200));
    let numbers: Vec<String> = different.iter().take(2).map(ToString::to_string).collect();
    assert!(numbers[0].ends_with("-001") && numbers[1].ends_with("-002"), "{numbers:?}");
}
