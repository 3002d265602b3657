//! Guided sessions: an interview that asks its questions one after another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Confidence, in percent, below which an answer is asked after.
pub const SURE_PERCENT: u8 = 70;
/// How often one question is asked after.
pub const MAX_FOLLOW_UPS: u8 = 2;

/// An interview: phases of questions, asked in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterviewTemplate {
    /// The phases.
    pub phases: Vec<Phase>,
    /// When it is done.
    pub completion: Completion,
}

/// A part of an interview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// What it is about.
    pub name: String,
    /// Its questions.
    pub questions: Vec<Question>,
}

/// A question and the field its answer fills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The field.
    pub field: String,
    /// What to ask.
    pub ask: String,
    /// Whether it may be declined.
    pub required: bool,
}

/// When an interview is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// When every question was answered or declined.
    AllAsked,
    /// As soon as every required field is filled.
    RequiredFilled,
}

/// What a message said about the open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extraction {
    /// Nothing.
    Nothing,
    /// That the writer would rather not answer.
    Declined,
    /// A value.
    Found {
        /// The value.
        value: String,
        /// How sure the reading is, from 0 to 100.
        confidence_percent: u8,
    },
}

/// How far an interview is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InterviewState {
    position: usize,
    follow_ups: u8,
    /// The surest of the unsure answers to the open question.
    best: Option<(u8, String)>,
    fields: BTreeMap<String, String>,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep<'a> {
    /// Ask this question.
    Ask(&'a Question),
    /// Ask the same question again, more closely.
    FollowUp(&'a Question),
    /// The interview is done.
    Complete,
}

impl InterviewTemplate {
    fn questions(&self) -> impl Iterator<Item = &Question> {
        self.phases.iter().flat_map(|phase| &phase.questions)
    }
}

impl InterviewState {
    /// The fields that have been filled.
    pub const fn fields(&self) -> &BTreeMap<String, String> {
        &self.fields
    }

    /// Whether the open question was asked before and not answered surely.
    pub const fn asks_again(&self) -> bool {
        self.follow_ups > 0
    }

    /// What to ask now, without a new message.
    pub fn next<'a>(&self, template: &'a InterviewTemplate) -> NextStep<'a> {
        let enough = template.completion == Completion::RequiredFilled
            && template
                .questions()
                .all(|question| !question.required || self.fields.contains_key(&question.field));
        match template.questions().nth(self.position) {
            Some(question) if !enough => NextStep::Ask(question),
            _ => NextStep::Complete,
        }
    }

    /// Takes what a message said about the open question.
    ///
    /// A sure answer is stored and the next question comes. An unsure one is
    /// asked after; when that does not help, the surest of them is stored and
    /// the interview goes on. A required question waits for some answer.
    pub fn take<'a>(
        &mut self,
        template: &'a InterviewTemplate,
        extraction: &Extraction,
    ) -> NextStep<'a> {
        let NextStep::Ask(question) = self.next(template) else {
            return NextStep::Complete;
        };
        match extraction {
            Extraction::Nothing => return NextStep::Ask(question),
            Extraction::Declined if question.required => return NextStep::Ask(question),
            Extraction::Declined => {}
            Extraction::Found { value, confidence_percent } => {
                let found = (*confidence_percent, value.clone());
                let best = self.best.take().filter(|best| best.0 > found.0).unwrap_or(found);
                if best.0 < SURE_PERCENT && self.follow_ups < MAX_FOLLOW_UPS {
                    self.best = Some(best);
                    self.follow_ups += 1;
                    return NextStep::FollowUp(question);
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
        Completion, Extraction, InterviewState, InterviewTemplate, NextStep, Phase, Question,
    };

    fn question(field: &str, required: bool) -> Question {
        Question { field: field.into(), ask: format!("Your {field}?"), required }
    }

    fn template(completion: Completion) -> InterviewTemplate {
        let phase = |name: &str, question| Phase { name: name.into(), questions: vec![question] };
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
        let template = template(Completion::AllAsked);
        let (name, trade, motto) =
            (question("name", true), question("trade", true), question("motto", false));
        let mut state = InterviewState::default();
        assert_eq!(state.next(&template), NextStep::Ask(&name));
        let steps = [
            (Extraction::Nothing, NextStep::Ask(&name)),
            (Extraction::Declined, NextStep::Ask(&name)),
            (found("Rosa", 90), NextStep::Ask(&trade)),
            (found("pizza", 70), NextStep::Ask(&motto)),
            (Extraction::Declined, NextStep::Complete),
            (found("late", 99), NextStep::Complete),
        ];
        for (extraction, expected) in steps {
            assert_eq!(state.take(&template, &extraction), expected, "{extraction:?}");
        }
        let fields = [("name".to_owned(), "Rosa".to_owned()), ("trade".into(), "pizza".into())];
        assert_eq!(state.fields(), &fields.into());
    }

    /// F08: an answer below 0.7 is asked after at most twice, then taken.
    #[test]
    fn f08_an_unsure_answer_is_asked_after_twice() {
        let template = template(Completion::AllAsked);
        let (name, trade) = (question("name", true), question("trade", true));
        let mut state = InterviewState::default();
        for unsure in [found("Ro?", 30), found("Ro..sa?", 69)] {
            assert_eq!(state.take(&template, &unsure), NextStep::FollowUp(&name));
            assert!(state.fields().is_empty());
        }
        assert_eq!(state.take(&template, &found("mm", 10)), NextStep::Ask(&trade));
        assert_eq!(state.fields()["name"], "Ro..sa?");
        assert_eq!(state.take(&template, &found("?", 10)), NextStep::FollowUp(&trade));
    }

    /// F08: completion criteria are honoured.
    #[test]
    fn f08_required_fields_can_be_enough() {
        let template = template(Completion::RequiredFilled);
        let mut state = InterviewState::default();
        state.take(&template, &found("Rosa", 90));
        assert_eq!(state.take(&template, &found("pizza", 90)), NextStep::Complete);
        let nothing = InterviewTemplate { phases: vec![], completion: Completion::AllAsked };
        assert_eq!(InterviewState::default().next(&nothing), NextStep::Complete);
    }
}
