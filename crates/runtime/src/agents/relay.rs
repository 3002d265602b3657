//! Relays answers of AI agents to a bus that no other process reaches.
//!
//! Any process of the installation may answer a request, and its delivery worker cannot
//! reach this bus. So the process that took the request reads the answer from the store. If
//! its own delivery worker was faster, nobody waits for the relayed one.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::BusError;
use ostler_domain::id::{EnvelopeId, RunId};
use ostler_domain::session::key::ConversationKey;
use ostler_store::{OrgStore, Store, StoreError};
use serde_json::json;

use super::ai::{ANSWER_KIND, NOTICE_KIND};
use super::error::QueueError;
use super::runtime::AgentRuntime;
use crate::ids::derived;
use crate::records::bus_request::BusRequest;
use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::records::run::RunRecord;
use crate::records::{UnreadableRecord, decode};

/// How often the store is asked for the answer.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How many messages of a thread are searched for the answer.
const MAX_MESSAGES: u32 = 100;

#[derive(Debug, thiserror::Error)]
enum RelayError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Record(#[from] UnreadableRecord),
    #[error(transparent)]
    Queue(#[from] QueueError),
}

/// Relays the answer to a request once it is stored, unless the runtime stops before.
pub(super) fn spawn(
    runtime: &AgentRuntime,
    store: &Store,
    key: ConversationKey,
    request: BusRequest,
) {
    let (runtime, store) = (runtime.clone(), store.clone());
    tokio::spawn(async move {
        let relayed = relay(&runtime, &store, &key, &request).await;
        if let Err(error) = relayed {
            tracing::warn!(message = %request.message, %error, "answer not relayed");
        }
    });
}

async fn relay(
    runtime: &AgentRuntime,
    store: &Store,
    key: &ConversationKey,
    request: &BusRequest,
) -> Result<(), RelayError> {
    let Some(reply_to) = request.reply_to() else { return Ok(()) };
    let (store, id) = (store.org(key.org), request.message.to_string());
    let run = loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if runtime.is_stopped() {
            return Ok(());
        }
        if let Some(run) = store.answering_run(key.binding, &id).await? {
            break run;
        }
    };
    let Some(answer) = answer_of(&store, run).await? else { return Ok(()) };
    let kind = match answer.author {
        MessageAuthor::System => NOTICE_KIND,
        _ => ANSWER_KIND,
    };
    let id = derived(EnvelopeId::from_u128, run.as_u128(), "answer");
    let reply = request.reply(id, kind.into(), json!({"text": answer.text()}).into());
    match runtime.send_to_queue(reply_to, Arc::new(reply)).await {
        Err(QueueError::Bus(BusError::NoPendingRequest(_))) => Ok(()),
        sent => Ok(sent?),
    }
}

/// Returns the first message that a run sent.
async fn answer_of(store: &OrgStore<'_>, run: RunId) -> Result<Option<ThreadMessage>, RelayError> {
    let record = RunRecord::from_stored(&store.run(run).await?)?;
    let thread = store.session(record.session).await?.thread;
    for stored in store.last_messages(thread, MAX_MESSAGES).await? {
        let message: ThreadMessage = decode("message", &stored.data)?;
        let is_sent = message.run == Some(run)
            && !matches!(message.author, MessageAuthor::Customer { .. })
            && message.purpose != Purpose::Transition
            && !message.text().is_empty();
        if is_sent {
            return Ok(Some(message));
        }
    }
    Ok(None)
}
