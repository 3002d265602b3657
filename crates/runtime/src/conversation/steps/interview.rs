//! Reads the answer to the open question of a guided session from the customer's message.
//! A model extracts the answer; `domain::session::guided` decides what follows.

use ostler_domain::event::{InterviewCompleted, OrgEvent};
use ostler_domain::session::guided::{Extraction, InterviewQuestion, InterviewStep};
use ostler_engine::history::Item;
use ostler_store::StoreError;
use serde_json::Value;

use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::side_turn::{self, SideAnswer, SideQuestion};
use crate::conversation::steps::rate_limit::RateCheck;
use crate::org_view::AgentView;
use crate::records::message::{MessageAuthor, ThreadMessage};

const SYSTEM: &str = include_str!("../prompts/interview.md");

/// Records the message as the answer to the open question of the interview, if there is
/// one. Does nothing in a session without an interview.
pub(crate) async fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    input: &Input<'_>,
    rate: &RateCheck,
    text: &str,
) -> Result<(), StoreError> {
    if !run.finished_turns.is_empty() || input.messages.is_empty() {
        return Ok(());
    }
    let from_agent = |one: &&ThreadMessage| matches!(one.author, MessageAuthor::Agent { .. });
    let Some(asked) = run.earlier.iter().rev().find(from_agent) else { return Ok(()) };
    let Some(interview) = run.session.interview.clone() else { return Ok(()) };
    let InterviewStep::Ask(question) = interview.state.next(&interview.template) else {
        return Ok(());
    };
    let history = vec![Item::assistant(asked.text()), Item::user(text)];
    let system = system_prompt(question).into();
    let question = SideQuestion { purpose: "interview", system, history };
    let SideAnswer { text, turn } =
        side_turn::ask(context, agent, &run.session, rate, question).await?;
    if let Some(turn) = turn {
        turn.charge_session(&mut run.session);
        run.add_side_turn(turn);
    }
    let extraction = text.map_or(Extraction::Nothing, |text| parse_extraction(&text));
    let Some(interview) = &mut run.session.interview else { return Ok(()) };
    if interview.state.record_answer(&interview.template, &extraction) == InterviewStep::Complete {
        record_completion(run);
    }
    Ok(())
}

/// Adds the event that all questions are answered.
pub(crate) fn record_completion(run: &mut Run) {
    let fields = run.session.interview.as_ref().map(|one| one.state.fields().clone());
    let session = run.session.id;
    let completed = InterviewCompleted { session, fields: fields.unwrap_or_default() };
    run.pending.add_event(&OrgEvent::InterviewCompleted(completed));
}

fn system_prompt(InterviewQuestion { ask, field, .. }: &InterviewQuestion) -> String {
    SYSTEM.replace("{field}", field).replace("{question}", ask)
}

/// Parses the model's answer. What cannot be parsed is [`Extraction::Nothing`], so that the
/// question is asked again.
fn parse_extraction(text: &str) -> Extraction {
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let Some(Value::Object(fields)) = json.and_then(|json| serde_json::from_str(json).ok()) else {
        return Extraction::Nothing;
    };
    if fields.get("declined").and_then(Value::as_bool) == Some(true) {
        return Extraction::Declined;
    }
    let value = match fields.get("answer") {
        Some(Value::String(value)) => value.trim().to_owned(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        _ => String::new(),
    };
    if value.is_empty() {
        return Extraction::Nothing;
    }
    let confidence_percent = fields.get("confidence").map_or(0, percent);
    Extraction::Found { value, confidence_percent }
}

/// Returns a percentage; models also write it as a fraction of 1.
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

    use super::parse_extraction;

    #[test]
    fn extractions_are_parsed_in_many_forms() {
        let found = |value: &str, confidence_percent| Extraction::Found {
            value: value.to_owned(),
            confidence_percent,
        };
        let check = |text: &str, expected: Extraction| {
            assert_eq!(parse_extraction(text), expected, "{text}");
        };
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
