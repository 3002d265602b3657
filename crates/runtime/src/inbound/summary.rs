//! What a session was about, written down when it ends. The agent's model writes
//! it; if that fails, its first and last words have to do. A session never stays
//! open because of it.

use ostler_store::StoreError;

use super::case::Case;
use super::small_turn::{self, Question, Small};
use super::step_02_rate as rate_step;
use super::step_06_history as history_step;
use super::step_08_turn::Finished;
use crate::talk::message::{MessageAuthor, ThreadMessage};
use crate::talk::session::Session;

/// What the model is told.
const SYSTEM: &str = include_str!("prompts/summary.md");
/// What it is asked in the end.
const ASK: &str = "[The conversation is over. Write the note.]";
/// The most characters of a message that stand for it where no model helps.
const QUOTED: usize = 200;

/// Sums a session up that ends, if its org wants that and it has none yet.
/// What that cost is the session's, and is returned for the commit.
pub(super) async fn write(
    case: &Case<'_>,
    session: &mut Session,
    messages: &[ThreadMessage],
) -> Result<Option<Finished>, StoreError> {
    let wanted = case.view.settings.close.summarizes(session.messages as usize);
    if !wanted || session.summary.is_some() {
        return Ok(None);
    }
    let Small { text, turn } = asked(case, session, messages).await?;
    session.summary = Some(text.unwrap_or_else(|| first_and_last(messages)));
    if let Some(turn) = &turn {
        turn.count_against(session);
    }
    Ok(turn)
}

async fn asked(
    case: &Case<'_>,
    session: &Session,
    messages: &[ThreadMessage],
) -> Result<Small, StoreError> {
    let agent = session.active_agent().and_then(|id| case.view.agent(id)).cloned();
    let Some(agent) = agent else { return Ok(Small::default()) };
    let rate = rate_step::look(case, &agent, session).await?.rate;
    let mut history = history_step::items(messages);
    history.push(ostler_engine::history::Item::user(ASK));
    let question = Question { purpose: "summary", system: SYSTEM.into(), history };
    small_turn::ask(case, &agent, session, &rate, question).await
}

/// A summary without a model: the customer's first and last words, and the last
/// reply.
fn first_and_last(messages: &[ThreadMessage]) -> String {
    let theirs = |one: &&ThreadMessage| matches!(one.author, MessageAuthor::Customer { .. });
    let ours = |one: &&ThreadMessage| {
        matches!(one.author, MessageAuthor::Agent { .. } | MessageAuthor::Human { .. })
    };
    let mut lines = Vec::new();
    let first = messages.iter().find(theirs);
    let last = messages.iter().rev().find(theirs);
    lines.extend(first.map(|one| format!("They began with: {}", quoted(one))));
    if first.map(std::ptr::from_ref) != last.map(std::ptr::from_ref) {
        lines.extend(last.map(|one| format!("They wrote last: {}", quoted(one))));
    }
    let answered = messages.iter().rev().find(|one| ours(one) && !one.text().is_empty());
    lines.extend(answered.map(|one| format!("The last reply was: {}", quoted(one))));
    lines.join("\n")
}

fn quoted(message: &ThreadMessage) -> String {
    let text = message.text();
    let short: String = text.chars().take(QUOTED).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", short.trim())
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::AgentId;
    use ostler_domain::message::Part;
    use ostler_domain::time::Timestamp;

    use super::first_and_last;
    use crate::talk::message::{MessageAuthor, Purpose, ThreadMessage};

    fn message(author: MessageAuthor, text: &str) -> ThreadMessage {
        ThreadMessage {
            at: Timestamp::from_millis(0),
            author,
            parts: vec![Part::text(text)],
            work: Vec::new(),
            purpose: Purpose::Talk,
            run: None,
        }
    }

    #[test]
    fn without_a_model_the_first_and_last_words_stay() {
        let rosa = || MessageAuthor::Customer { name: None };
        let gia = || MessageAuthor::Agent { id: AgentId::from_u128(1) };
        let long = "x".repeat(300);
        let check = |messages: &[ThreadMessage], expected: &str| {
            assert_eq!(first_and_last(messages), expected);
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
