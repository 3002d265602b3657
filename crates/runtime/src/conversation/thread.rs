//! The last messages of a conversation, from the cache or from the store.

use ostler_domain::id::ThreadId;

use super::run_context::RunContext;
use crate::assembly::history::{HISTORY_MESSAGES, decode_messages};
use crate::records::message::ThreadMessage;
use crate::run_error::RunError;

/// Loads the last messages of the conversation's newest session, oldest first.
pub(crate) async fn load(context: &RunContext<'_>) -> Result<Vec<ThreadMessage>, RunError> {
    let Some(session) = &context.start.session else { return Ok(Vec::new()) };
    let last = context.start.last_seq;
    if last == 0 {
        return Ok(Vec::new());
    }
    if let Some(cached) = context.services.thread_cache.take(session.thread, last) {
        return Ok(cached);
    }
    let stored = context.store().thread_for_turn(session.thread, HISTORY_MESSAGES).await?;
    Ok(decode_messages(&stored)?)
}

/// Caches the messages for the next turn.
pub(crate) fn remember(
    context: &RunContext<'_>,
    thread: ThreadId,
    mut earlier: Vec<ThreadMessage>,
    new: Vec<ThreadMessage>,
) {
    let same_thread = context.start.session.as_ref().is_some_and(|one| one.thread == thread);
    let before = if same_thread { context.start.last_seq } else { 0 };
    // A resumed run may have found another session than its first attempt did.
    if earlier.len() as i64 != before.min(i64::from(HISTORY_MESSAGES)) {
        return;
    }
    let last = before + new.len() as i64;
    earlier.extend(new);
    earlier.drain(..earlier.len().saturating_sub(HISTORY_MESSAGES as usize));
    context.services.thread_cache.put(thread, last, earlier);
}
