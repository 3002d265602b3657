//! Guided sessions: an interview with questions in a fixed order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Confidence, in percent, below which a follow-up question is asked.
pub const CONFIDENT_PERCENT: u8 = 70;
/// Maximum number of follow-ups per question.
pub const MAX_FOLLOW_UPS: u8 = 2;

/// An interview: phases of questions, asked in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterviewTemplate {
    pub phases: Vec<InterviewPhase>,
    pub completion: InterviewCompletion,
}

/// A phase of an interview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterviewPhase {
    pub name: String,
    pub questions: Vec<InterviewQuestion>,
}

/// A question and the field that its answer fills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterviewQuestion {
    pub field: String,
    pub ask: String,
    /// A required question cannot be declined.
    pub required: bool,
}

/// When an interview is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterviewCompletion {
    /// Every question was answered or declined.
    AllAsked,
    /// Every required field is filled.
    RequiredFilled,
}

/// What a message says about the open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extraction {
    Nothing,
    /// The customer declines to answer.
    Declined,
    Found {
        value: String,
        /// From 0 to 100.
        confidence_percent: u8,
    },
}

/// Progress of an interview.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InterviewState {
    position: usize,
    follow_ups: u8,
    /// The answer with the highest confidence so far to the open question.
    best: Option<(u8, String)>,
    fields: BTreeMap<String, String>,
}

/// The next step of an interview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterviewStep<'a> {
    Ask(&'a InterviewQuestion),
    /// Ask the same question again, in more detail.
    FollowUp(&'a InterviewQuestion),
    Complete,
}

impl InterviewTemplate {
    fn questions(&self) -> impl Iterator<Item = &InterviewQuestion> {
        self.phases.iter().flat_map(|phase| &phase.questions)
    }
}

impl InterviewState {
    /// Returns the fields filled so far.
    pub const fn fields(&self) -> &BTreeMap<String, String> {
        &self.fields
    }

    /// Returns whether the open question was already asked without a confident answer.
    pub const fn is_follow_up(&self) -> bool {
        self.follow_ups > 0
    }

    /// Returns what to ask now, without a new message.
    pub fn next<'a>(&self, template: &'a InterviewTemplate) -> InterviewStep<'a> {
        let enough = template.completion == InterviewCompletion::RequiredFilled
            && template
                .questions()
                .all(|question| !question.required || self.fields.contains_key(&question.field));
        match template.questions().nth(self.position) {
            Some(question) if !enough => InterviewStep::Ask(question),
            _ => InterviewStep::Complete,
        }
    }

    /// Records what a message says about the open question and returns the next step.
    ///
    /// A confident answer is stored and the next question follows. An uncertain one gets
    /// follow-ups; after the last, the answer with the highest confidence is stored. A
    /// required question is asked until there is some answer.
    pub fn record_answer<'a>(
        &mut self,
        template: &'a InterviewTemplate,
        extraction: &Extraction,
    ) -> InterviewStep<'a> {
        let InterviewStep::Ask(question) = self.next(template) else {
            return InterviewStep::Complete;
        };
        match extraction {
            Extraction::Nothing => return InterviewStep::Ask(question),
            Extraction::Declined if question.required => return InterviewStep::Ask(question),
            Extraction::Declined => {}
            Extraction::Found { value, confidence_percent } => {
                let found = (*confidence_percent, value.clone());
                let best = self.best.take().filter(|best| best.0 > found.0).unwrap_or(found);
                if best.0 < CONFIDENT_PERCENT && self.follow_ups < MAX_FOLLOW_UPS {
                    self.best = Some(best);
                    self.follow_ups += 1;
                    return InterviewStep::FollowUp(question);
                }
                self.fields.insert(question.field.clone(), best.1);
            }
        }
        self.position += 1;
        self.follow_ups = 0;
        self.best = None;
        self.next(template)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Extraction, InterviewCompletion, InterviewPhase, InterviewQuestion, InterviewState,
        InterviewStep, InterviewTemplate,
    };

    fn question(field: &str, required: bool) -> InterviewQuestion {
        InterviewQuestion { field: field.into(), ask: format!("Your {field}?"), required }
    }

    fn template(completion: InterviewCompletion) -> InterviewTemplate {
        let phase =
            |name: &str, question| InterviewPhase { name: name.into(), questions: vec![question] };
        let phases = vec![
            phase("you", question("name", true)),
            phase("business", question("trade", true)),
            phase("extras", question("motto", false)),
        ];
        InterviewTemplate { phases, completion }
    }

    fn found(value: &str, confidence_percent: u8) -> Extraction {
        Extraction::Found { value: value.into(), confidence_percent }
    }

    /// F08: the question advances only on extraction.
    #[test]
    fn f08_a_question_waits_for_its_answer() {
        let template = template(InterviewCompletion::AllAsked);
        let (name, trade, motto) =
            (question("name", true), question("trade", true), question("motto", false));
        let mut state = InterviewState::default();
        assert_eq!(state.next(&template), InterviewStep::Ask(&name));
        let steps = [
            (Extraction::Nothing, InterviewStep::Ask(&name)),
            (Extraction::Declined, InterviewStep::Ask(&name)),
            (found("Rosa", 90), InterviewStep::Ask(&trade)),
            (found("pizza", 70), InterviewStep::Ask(&motto)),
            (Extraction::Declined, InterviewStep::Complete),
            (found("late", 99), InterviewStep::Complete),
        ];
        for (extraction, expected) in steps {
            assert_eq!(state.record_answer(&template, &extraction), expected, "{extraction:?}");
        }
        let fields = [("name".to_owned(), "Rosa".to_owned()), ("trade".into(), "pizza".into())];
        assert_eq!(state.fields(), &fields.into());
    }

    /// F08: an answer below 70 % confidence gets at most two follow-ups and is then stored.
    #[test]
    fn f08_an_uncertain_answer_gets_two_follow_ups() {
        let template = template(InterviewCompletion::AllAsked);
        let (name, trade) = (question("name", true), question("trade", true));
        let mut state = InterviewState::default();
        for unsure in [found("Ro?", 30), found("Ro..sa?", 69)] {
            assert_eq!(state.record_answer(&template, &unsure), InterviewStep::FollowUp(&name));
            assert!(state.fields().is_empty());
        }
        assert_eq!(state.record_answer(&template, &found("mm", 10)), InterviewStep::Ask(&trade));
        assert_eq!(state.fields()["name"], "Ro..sa?");
        assert_eq!(
            state.record_answer(&template, &found("?", 10)),
            InterviewStep::FollowUp(&trade)
        );
    }

    /// F08: completion criteria are honoured.
    #[test]
    fn f08_an_interview_can_complete_when_required_fields_are_filled() {
        let template = template(InterviewCompletion::RequiredFilled);
        let mut state = InterviewState::default();
        state.record_answer(&template, &found("Rosa", 90));
        assert_eq!(state.record_answer(&template, &found("pizza", 90)), InterviewStep::Complete);
        let nothing =
            InterviewTemplate { phases: vec![], completion: InterviewCompletion::AllAsked };
        assert_eq!(InterviewState::default().next(&nothing), InterviewStep::Complete);
    }
}
