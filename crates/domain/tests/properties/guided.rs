//! Guided interviews: they move forward, ask the questions in order, and end.

use std::collections::BTreeSet;

use ostler_domain::session::guided::{
    Extraction, InterviewCompletion, InterviewPhase, InterviewQuestion, InterviewState,
    InterviewStep, InterviewTemplate,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::check;

fn questions() -> impl Strategy<Value = InterviewQuestion> {
    let field = select(vec!["name", "trade", "city", "phone", "motto"]);
    (field, any::<u32>(), any::<bool>()).prop_map(|(field, n, required)| InterviewQuestion {
        field: field.into(),
        ask: format!("{field} {n}?"),
        required,
    })
}

fn templates() -> impl Strategy<Value = InterviewTemplate> {
    let phase = prop::collection::vec(questions(), 0..4)
        .prop_map(|questions| InterviewPhase { name: "phase".into(), questions });
    let completion =
        select(vec![InterviewCompletion::AllAsked, InterviewCompletion::RequiredFilled]);
    (prop::collection::vec(phase, 0..4), completion)
        .prop_map(|(phases, completion)| InterviewTemplate { phases, completion })
}

fn extractions() -> impl Strategy<Value = Extraction> {
    let found = ("[a-z]{0,6}", any::<u8>())
        .prop_map(|(value, confidence_percent)| Extraction::Found { value, confidence_percent });
    prop_oneof![1 => Just(Extraction::Nothing), 1 => Just(Extraction::Declined), 6 => found]
}

/// Reads the position of an interview from its serialized form.
fn position(state: &InterviewState) -> Option<usize> {
    let stored = serde_json::to_value(state).ok()?;
    usize::try_from(stored.get("position")?.as_u64()?).ok()
}

/// F08: the position moves forward by at most one, and only on an answer or an allowed
/// refusal; an uncertain answer gets at most two follow-ups; fields come from the
/// questions and keep the text of an answer; a complete interview stays complete.
#[test]
fn f08_an_interview_moves_forward_and_ends() {
    let cases = (templates(), prop::collection::vec(extractions(), 0..60));
    check(500, &cases, |(template, answers)| {
        let all: Vec<&InterviewQuestion> =
            template.phases.iter().flat_map(|p| &p.questions).collect();
        let mut state = InterviewState::default();
        let mut follow_ups = 0;
        for answer in &answers {
            let asked = state.next(&template);
            let (before, at) = (state.clone(), position(&state).unwrap_or_default());
            let step = state.record_answer(&template, answer);
            let moved = position(&state).unwrap_or_default() - at;
            let InterviewStep::Ask(question) = asked else {
                prop_assert_eq!((step, &state), (InterviewStep::Complete, &before));
                continue;
            };
            prop_assert_eq!(question, all[at]);
            let expected = match answer {
                Extraction::Nothing => 0,
                Extraction::Declined => usize::from(!question.required),
                Extraction::Found { confidence_percent, .. } => {
                    usize::from(*confidence_percent >= 70 || follow_ups == 2)
                }
            };
            prop_assert_eq!(moved, expected, "{:?}", answer);
            let followed = matches!(step, InterviewStep::FollowUp(_));
            follow_ups = if moved == 1 { 0 } else { follow_ups + usize::from(followed) };
            prop_assert!(follow_ups <= 2);
            if let (1, Extraction::Found { value, confidence_percent: 70.. }) = (moved, answer) {
                prop_assert_eq!(state.fields().get(&question.field), Some(value));
            }
            if moved == 0 {
                prop_assert_eq!(state.fields(), before.fields());
            }
            match step {
                InterviewStep::Ask(next) => prop_assert_eq!(next, all[at + moved]),
                InterviewStep::FollowUp(same) => prop_assert_eq!((same, moved), (question, 0)),
                InterviewStep::Complete => {
                    let filled = |q: &&InterviewQuestion| {
                        !q.required || state.fields().contains_key(&q.field)
                    };
                    let enough = template.completion == InterviewCompletion::RequiredFilled
                        && all.iter().all(filled);
                    prop_assert!(at + moved == all.len() || enough, "ended too early");
                }
            }
        }
        let known: BTreeSet<&String> = all.iter().map(|question| &question.field).collect();
        prop_assert!(state.fields().keys().all(|field| known.contains(field)));
        Ok(())
    });
}

/// F08: confident answers complete an interview with one answer per question.
#[test]
fn f08_confident_answers_complete_an_interview() {
    check(300, &templates(), |template| {
        let mut state = InterviewState::default();
        let confident = Extraction::Found { value: "yes".into(), confidence_percent: 70 };
        let count = template.phases.iter().map(|phase| phase.questions.len()).sum::<usize>();
        for _ in 0..count {
            state.record_answer(&template, &confident);
        }
        prop_assert_eq!(state.next(&template), InterviewStep::Complete);
        let required = template.phases.iter().flat_map(|phase| &phase.questions);
        let mut required = required.filter(|question| question.required);
        prop_assert!(required.all(|question| state.fields().contains_key(&question.field)));
        Ok(())
    });
}
