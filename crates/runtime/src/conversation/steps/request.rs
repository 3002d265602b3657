//! What follows a request over the API whose caller keeps the conversation: its session ends
//! with the answer, unless it has to go on.

use ostler_domain::event::{OrgEvent, SessionClosed};
use ostler_domain::id::MessageId;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_store::NewMessage;

use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::ids::fresh;
use crate::records::encode;

/// Ends the session of such a request. If a person has to decide something in it or has it,
/// the session stays open and its thread gets the history that the caller sent.
pub(crate) fn run(context: &RunContext<'_>, run: &mut Run, input: &Input<'_>) {
    let request = input.last_message().and_then(|one| one.api_request.as_ref());
    if request.is_none_or(|request| request.history.is_none()) {
        return;
    }
    let session = &mut run.session;
    let waits = session.pending_approvals > 0 || session.unknown_outcomes > 0;
    if session.status == SessionStatus::Active && !waits {
        let reason = CloseReason::Completed;
        if session.close(reason) {
            let closed = SessionClosed { session: session.id, reason };
            run.pending.add_event(&OrgEvent::SessionClosed(closed));
        }
        return;
    }
    // A repeated attempt finds what the first one stored.
    if context.start.session.is_some() {
        return;
    }
    let given = std::mem::take(&mut run.earlier);
    session.messages = session.messages.saturating_add(given.len().try_into().unwrap_or(u32::MAX));
    let stored = given
        .iter()
        .map(|message| NewMessage { id: fresh(MessageId::from_u128), data: encode(message) });
    run.pending.messages.splice(0..0, stored.collect::<Vec<_>>());
    run.pending.thread_messages.splice(0..0, given);
}
