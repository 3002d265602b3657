//! Tool calls of stored threads, to try rules on.

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::time::Timestamp;
use ostler_engine::history::{CallArguments, Item};
use ostler_store::{OrgStore, Store, StoreError};

use crate::harness::MAX_RUNS;
use crate::message::StoredItem;

/// How many messages are read at once.
const PAGE: u32 = 500;

/// A call that a model has made.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadCall {
    pub thread: ThreadId,
    pub at: Timestamp,
    /// The type of the subagent that made it; `None` for the agent of the thread.
    pub subagent: Option<String>,
    pub tool: String,
    pub arguments: CallArguments,
}

/// Returns the calls of the newest threads of a resource, newest threads first: those of each
/// thread, then those of its subagents. Messages that cannot be read are left out.
pub async fn thread_calls(
    store: &Store,
    org: OrgId,
    resource: &str,
    threads: u32,
) -> Result<Vec<ThreadCall>, StoreError> {
    let store = store.org(org);
    let mut calls = Vec::new();
    for thread in store.threads(resource, None, threads).await? {
        let mut after = 0;
        loop {
            let page = store.thread_messages(thread.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for message in &page {
                if let Ok(stored) = serde_json::from_str::<StoredItem>(&message.message) {
                    calls.extend(calls_of(stored.item, thread.id, stored.at, None));
                }
            }
        }
        calls.extend(subagent_calls(store, thread.id).await?);
    }
    Ok(calls)
}

/// Returns the calls that the subagents of a thread have made, at every depth.
async fn subagent_calls(
    store: OrgStore<'_>,
    thread: ThreadId,
) -> Result<Vec<ThreadCall>, StoreError> {
    let mut calls = Vec::new();
    for run in store.subagent_runs(thread, MAX_RUNS).await? {
        let Some((run, messages)) = store.subagent_run(run.run).await? else { continue };
        let items: Vec<Item> = serde_json::from_str(&messages).unwrap_or_default();
        for item in items {
            calls.extend(calls_of(item, thread, run.ended_at, Some(&run.agent_type)));
        }
    }
    Ok(calls)
}

fn calls_of(
    item: Item,
    thread: ThreadId,
    at: Timestamp,
    subagent: Option<&str>,
) -> impl Iterator<Item = ThreadCall> {
    let calls = match item {
        Item::Assistant { calls, .. } => calls,
        _ => Vec::new(),
    };
    calls.into_iter().map(move |call| ThreadCall {
        thread,
        at,
        subagent: subagent.map(str::to_owned),
        tool: call.name,
        arguments: call.arguments,
    })
}
