//! Tool calls of stored threads, to try rules on.

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::time::Timestamp;
use ostler_engine::history::Item;
use ostler_store::{Store, StoreError};
use serde_json::Value;

use crate::message::StoredItem;

/// How many messages are read at once.
const PAGE: u32 = 500;

/// A call that a model has made.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadCall {
    pub thread: ThreadId,
    pub at: Timestamp,
    pub tool: String,
    pub arguments: Value,
}

/// Returns the calls of the newest threads of a resource, newest threads first. Calls of
/// subagents are not stored in threads, and messages that cannot be read are left out.
pub async fn thread_calls(
    store: &Store,
    org: OrgId,
    resource: &str,
    threads: u32,
) -> Result<Vec<ThreadCall>, StoreError> {
    let mut calls = Vec::new();
    for thread in store.org(org).threads(resource, None, threads).await? {
        let mut after = 0;
        loop {
            let page = store.org(org).thread_messages(thread.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for message in &page {
                let Ok(stored) = serde_json::from_str::<StoredItem>(&message.message) else {
                    continue;
                };
                let Item::Assistant { calls: made, .. } = stored.item else { continue };
                calls.extend(made.into_iter().map(|call| ThreadCall {
                    thread: thread.id,
                    at: stored.at,
                    tool: call.name,
                    arguments: call.arguments,
                }));
            }
        }
    }
    Ok(calls)
}
