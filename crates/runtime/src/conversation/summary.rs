//! Summarizes a session when it ends. The agent's model writes the summary; if that fails,
//! the first and last messages are quoted instead. A session never stays open because of
//! it.

use ostler_store::StoreError;

use super::run_context::RunContext;
use super::side_turn::{self, SideAnswer, SideQuestion};
use super::steps::rate_limit;
use super::steps::turn::FinishedTurn;
use crate::assembly::history::history_items;
use crate::records::message::{MessageAuthor, ThreadMessage};
use crate::records::session::Session;

const SYSTEM: &str = include_str!("prompts/summary.md");
const REQUEST: &str = "[The conversation is over. Write the note.]";
/// The maximum number of characters of a quoted message.
const MAX_QUOTED_CHARS: usize = 200;

/// Writes the summary of a session that ends, if the org wants one and it has none yet.
/// Returns the model's turn, whose cost the session's budget includes already.
pub(crate) async fn write(
    context: &RunContext<'_>,
    session: &mut Session,
    messages: &[ThreadMessage],
) -> Result<Option<FinishedTurn>, StoreError> {
    let wanted = context.view.settings.close.summarizes(session.messages as usize);
    if !wanted || session.summary.is_some() {
        return Ok(None);
    }
    let SideAnswer { text, turn } = ask_model(context, session, messages).await?;
    session.summary = Some(text.unwrap_or_else(|| quote_messages(messages)));
    if let Some(turn) = &turn {
        turn.charge_session(session);
    }
    Ok(turn)
}

async fn ask_model(
    context: &RunContext<'_>,
    session: &Session,
    messages: &[ThreadMessage],
) -> Result<SideAnswer, StoreError> {
    let agent = session.active_agent().and_then(|id| context.view.agent(id)).cloned();
    let Some(agent) = agent else { return Ok(SideAnswer::default()) };
    let rate = rate_limit::run(context, &agent, session).await?.rate;
    let mut history = history_items(messages);
    history.push(ostler_engine::history::Item::user(REQUEST));
    let question = SideQuestion { purpose: "summary", system: SYSTEM.into(), history };
    side_turn::ask(context, &agent, session, &rate, question).await
}

/// Returns a summary without a model: the customer's first and last message, and the last
/// reply.
fn quote_messages(messages: &[ThreadMessage]) -> String {
    let from_customer = |one: &&ThreadMessage| matches!(one.author, MessageAuthor::Customer { .. });
    let from_us = |one: &&ThreadMessage| {
        matches!(one.author, MessageAuthor::Agent { .. } | MessageAuthor::Human { .. })
    };
    let mut lines = Vec::new();
    let first = messages.iter().find(from_customer);
    let last = messages.iter().rev().find(from_customer);
    lines.extend(first.map(|one| format!("They began with: {}", quoted(one))));
    if first.map(std::ptr::from_ref) != last.map(std::ptr::from_ref) {
        lines.extend(last.map(|one| format!("They wrote last: {}", quoted(one))));
    }
    let answered = messages.iter().rev().find(|one| from_us(one) && !one.text().is_empty());
    lines.extend(answered.map(|one| format!("The last reply was: {}", quoted(one))));
    lines.join("\n")
}

fn quoted(message: &ThreadMessage) -> String {
    let text = message.text();
    let short: String = text.chars().take(MAX_QUOTED_CHARS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", short.trim())
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::AgentId;
    use ostler_domain::message::MessagePart;
    use ostler_domain::time::Timestamp;

    use super::quote_messages;
    use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};

    fn message(author: MessageAuthor, text: &str) -> ThreadMessage {
        ThreadMessage {
            at: Timestamp::from_millis(0),
            author,
            parts: vec![MessagePart::text(text)],
            work: Vec::new(),
            purpose: Purpose::Talk,
            run: None,
        }
    }

    #[test]
    fn without_a_model_the_first_and_last_messages_are_quoted() {
        let rosa = || MessageAuthor::Customer { name: None };
        let gia = || MessageAuthor::Agent { id: AgentId::from_u128(1) };
        let long = "x".repeat(300);
        let check = |messages: &[ThreadMessage], expected: &str| {
            assert_eq!(quote_messages(messages), expected);
        };
        check(&[], "");
        check(&[message(rosa(), "hello")], "They began with: \"hello\"");
        check(
            &[message(rosa(), "hello"), message(gia(), "Hi!"), message(rosa(), &long)],
            &format!(
                "They began with: \"hello\"\nThey wrote last: \"{}…\"\nThe last reply was: \"Hi!\"",
                "x".repeat(200)
            ),
        );
    }
}
