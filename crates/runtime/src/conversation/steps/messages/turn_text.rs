//! What the agent of a finished turn says to the customer, and what the thread keeps of its
//! work.

use ostler_domain::message::MessagePart;
use ostler_domain::team::handoff::transition_message;
use ostler_engine::history::{CallResult, Item};

use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::steps::turn::FinishedTurn;
use crate::org_view::AgentView;
use crate::pending_commit::DraftMessage;
use crate::records::message::{MessageAuthor, Purpose};

/// The maximum number of bytes of a tool result that the thread keeps.
const MAX_RESULT_BYTES: usize = 4096;

/// Adds the agent's text and work to the thread, and sends the text. Returns whether there
/// was any text.
pub(super) fn send_turn_text(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
    purpose: Purpose,
) -> bool {
    let (work, text) = work_and_text(&finished.new_items);
    let text = transition_message(&text).map(str::to_owned).filter(|_| !run.is_silent);
    if text.is_none() && work.is_empty() {
        return false;
    }
    let author = MessageAuthor::Agent { id: agent.agent.id };
    match &text {
        Some(text) => {
            run.send_message(
                context,
                DraftMessage { author, parts: vec![MessagePart::text(text)], work, purpose },
            );
        }
        None => {
            let draft = DraftMessage { author, parts: Vec::new(), work, purpose };
            let at = context.current_time();
            run.pending.add_message(&mut run.session, draft, Some(context.run_id), at);
        }
    }
    text.is_some()
}

/// Splits the items of a turn into the agent's work and its text for the customer.
pub(super) fn work_and_text(items: &[Item]) -> (Vec<Item>, String) {
    let mut work = items.to_vec();
    let text = match work.last() {
        Some(Item::Assistant { text, calls, .. }) if calls.is_empty() => {
            let text = text.clone();
            work.pop();
            text
        }
        // It ended with a call: takes the text next to it.
        _ => work
            .iter_mut()
            .rev()
            .find_map(|item| match item {
                Item::Assistant { text, .. } => Some(std::mem::take(text)),
                _ => None,
            })
            .unwrap_or_default(),
    };
    for item in &mut work {
        if let Item::Results { results } = item {
            for CallResult { outcome, .. } in results {
                outcome.effects.clear();
                *outcome = outcome.clone().truncated(MAX_RESULT_BYTES);
            }
        }
    }
    (work, text)
}
