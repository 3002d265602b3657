//! Continues a conversation in which an agent sent something to another business layer that is
//! settled now.

use ostler_domain::id::{AgentId, InboxId};
use ostler_domain::session::status::SessionStatus;
use ostler_store::LeaseAction;

use super::checkpoint::RecoveredRun;
use super::housekeeping;
use super::input::Input;
use super::pipeline::answer;
use super::run_context::RunContext;
use crate::records::decode;
use crate::records::session::Session;
use crate::run_error::RunError;

const NOTE: &str = "What you sent to your PM or delegated is settled: read it under \"What you \
    should know\" and tell the person what it means for them.";

/// Lets the agent answer with what it has been told, if it still has the conversation.
/// Otherwise it reads it when it answers here the next time.
pub(crate) async fn run(
    context: &RunContext<'_>,
    entry: InboxId,
    agent: AgentId,
    recovered: Option<Box<RecoveredRun>>,
    lease_action: LeaseAction,
) -> Result<(), RunError> {
    let status = match &context.start.session {
        Some(stored) => Some(decode::<Session>("session", &stored.data)?.status),
        None => None,
    };
    if status != Some(SessionStatus::Active) || context.view.agent(agent).is_none() {
        let why = "the agent reads what is settled when it answers here again";
        return housekeeping::skip(context, entry, why, lease_action).await;
    }
    let input = Input::from_note(entry, NOTE.to_owned(), lease_action);
    let input = Input { agent: Some(agent), ..input };
    Box::pin(answer(context, input, recovered)).await
}
