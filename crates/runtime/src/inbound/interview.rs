//! Guided sessions: what a customer's message says about the open question.
//!
//! A model reads the message; `domain::session::guided` decides what follows.

use ostler_domain::session::guided::{Extraction, NextStep, Question};
use ostler_engine::history::Item;
use ostler_store::StoreError;
use serde_json::{Value, json};

use super::case::Case;
use super::run::Run;
use super::small_turn::{self, Small};
use super::step_02_rate::Rate;
use crate::org_view::AgentView;
use crate::talk::message::{MessageAuthor, ThreadMessage};

/// What the model is told.
const SYSTEM: &str = include_str!("prompts/interview.md");

/// Takes what was written as the answer to the open question, if one was asked.
pub(super) async fn listen(
    case: &Case<'_>,
    run: &mut Run,
    agent: &AgentView,
    rate: &Rate,
    text: &str,
) -> Result<(), StoreError> {
    let Some(asked) = run.earlier.iter().rev().find(|one| is_agents(one)) else { return Ok(()) };
    let Some(interview) = run.session.interview.clone() else { return Ok(()) };
    let NextStep::Ask(question) = interview.state.next(&interview.template) else {
        return Ok(());
    };
    let history = vec![Item::assistant(asked.text()), Item::user(text)];
    let system = system(question).into();
    let question = small_turn::Question { purpose: "interview", system, history };
    let Small { text, turn } = small_turn::ask(case, agent, &run.session, rate, question).await?;
    if let Some(turn) = turn {
        turn.count_against(&mut run.session);
        run.beside(turn);
    }
    let extraction = text.map_or(Extraction::Nothing, |text| read(&text));
    let Some(interview) = &mut run.session.interview else { return Ok(()) };
    if interview.state.take(&interview.template, &extraction) == NextStep::Complete {
        completed(run);
    }
    Ok(())
}

/// Says that all is answered.
pub(super) fn completed(run: &mut Run) {
    let fields = run.session.interview.as_ref().map(|one| one.state.fields());
    let completed = json!({"session": run.session.id, "fields": fields});
    run.draft.happened("interview_completed", completed);
}

const fn is_agents(message: &ThreadMessage) -> bool {
    matches!(message.author, MessageAuthor::Agent { .. })
}

fn system(Question { ask, field, .. }: &Question) -> String {
    SYSTEM.replace("{field}", field).replace("{question}", ask)
}

/// What the model read in the message. What cannot be understood says nothing:
/// then the question is asked again.
fn read(text: &str) -> Extraction {
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let Some(Value::Object(said)) = json.and_then(|json| serde_json::from_str(json).ok()) else {
        return Extraction::Nothing;
    };
    if said.get("declined").and_then(Value::as_bool) == Some(true) {
        return Extraction::Declined;
    }
    let value = match said.get("answer") {
        Some(Value::String(value)) => value.trim().to_owned(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        _ => String::new(),
    };
    if value.is_empty() {
        return Extraction::Nothing;
    }
    let confidence_percent = said.get("confidence").map_or(0, percent);
    Extraction::Found { value, confidence_percent }
}

/// A share from 0 to 100; models also write it from 0 to 1.
fn percent(value: &Value) -> u8 {
    match value.as_u64() {
        Some(whole) => u8::try_from(whole.min(100)).unwrap_or(100),
        None => {
            let share = value.as_f64().unwrap_or(0.0);
            let share = if share <= 1.0 { share * 100.0 } else { share };
            format!("{:.0}", share.clamp(0.0, 100.0)).parse().unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostler_domain::session::guided::Extraction;

    use super::read;

    #[test]
    fn what_a_model_read_is_taken_in_many_forms() {
        let found = |value: &str, confidence_percent| Extraction::Found {
            value: value.to_owned(),
            confidence_percent,
        };
        let check = |text: &str, expected: Extraction| assert_eq!(read(text), expected, "{text}");
        check(r#"{"answer": "four", "confidence": 90}"#, found("four", 90));
        check("```json\n{\"answer\": 4, \"confidence\": 0.85}\n```", found("4", 85));
        check(r#"{"answer": "four", "confidence": 250}"#, found("four", 100));
        check(r#"{"answer": "four", "confidence": 72.4}"#, found("four", 72));
        check(r#"{"answer": "four"}"#, found("four", 0));
        check(r#"{"declined": true}"#, Extraction::Declined);
        for nothing in ["", "{}", "no idea", "}{", r#"{"answer": "  "}"#, r#"{"answer": null}"#] {
            check(nothing, Extraction::Nothing);
        }
    }
}
