//! Parsing the answers of the observer and the reflector: JSON in one exact form. Any
//! other answer is an error; nothing is guessed.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::MessageSpan;
use super::observation::{ObservationKind, Speaker, TaskCompletion};
use crate::time::UtcDay;

/// The most observations of one answer.
pub const MAX_OBSERVATIONS: usize = 200;
/// The longest text of an observation, in bytes.
pub const MAX_TEXT_BYTES: usize = 4000;

/// The reason why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer is not JSON of the expected form: {0}")]
    Form(String),
    #[error("the answer has {0} observations; {MAX_OBSERVATIONS} are allowed")]
    TooMany(usize),
    #[error("observation {0} has no text, or more than {MAX_TEXT_BYTES} bytes")]
    Text(usize),
    #[error("observation {0} names messages that were not shown")]
    Span(usize),
    /// Nothing may be attributed to somebody who did not say it.
    #[error("observation {0} names a speaker who has no message in its span")]
    Speaker(usize),
    #[error("observation {0} has `{1}`, which is not a date")]
    Date(usize, String),
    #[error("observation {0} ends before it begins")]
    Validity(usize),
    #[error("observation {0} supersedes #{1}, which was not shown")]
    Supersedes(usize, u64),
    #[error("observation {0} needs `completion` if it is a task, and only then")]
    Completion(usize),
}

/// An observation as the observer wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservationDraft {
    pub speaker: Speaker,
    pub kind: ObservationKind,
    pub completion: Option<TaskCompletion>,
    pub text: String,
    pub span: MessageSpan,
    pub valid_from: Option<UtcDay>,
    pub valid_until: Option<UtcDay>,
    pub supersedes: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObserverAnswer {
    observations: Vec<WrittenObservation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenObservation {
    speaker: Speaker,
    kind: ObservationKind,
    #[serde(default)]
    completion: Option<TaskCompletion>,
    text: String,
    first: i64,
    last: i64,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    until: Option<String>,
    #[serde(default)]
    supersedes: Vec<u64>,
}

/// Parses the answer of the observer, which was shown messages with these sequence numbers
/// and speakers, and the observations with these numbers.
pub fn parse_observations(
    text: &str,
    shown: &[(i64, Speaker)],
    known: &[u64],
) -> Result<Vec<ObservationDraft>, AnswerError> {
    let ObserverAnswer { observations } = parse(text)?;
    if observations.len() > MAX_OBSERVATIONS {
        return Err(AnswerError::TooMany(observations.len()));
    }
    (1..).zip(observations).map(|(number, one)| one.check(number, shown, known)).collect()
}

impl WrittenObservation {
    fn check(
        self,
        number: usize,
        shown: &[(i64, Speaker)],
        known: &[u64],
    ) -> Result<ObservationDraft, AnswerError> {
        let text = checked_text(&self.text).ok_or(AnswerError::Text(number))?;
        let span = MessageSpan { first: self.first, last: self.last };
        let was_shown = |seq: i64| shown.iter().any(|(shown, _)| *shown == seq);
        if span.last < span.first || !was_shown(span.first) || !was_shown(span.last) {
            return Err(AnswerError::Span(number));
        }
        let speaks = |(seq, speaker): &(i64, Speaker)| {
            *speaker == self.speaker && (span.first..=span.last).contains(seq)
        };
        if !shown.iter().any(speaks) {
            return Err(AnswerError::Speaker(number));
        }
        if (self.kind == ObservationKind::Task) != self.completion.is_some() {
            return Err(AnswerError::Completion(number));
        }
        if let Some(unknown) = self.supersedes.iter().find(|id| !known.contains(id)) {
            return Err(AnswerError::Supersedes(number, *unknown));
        }
        let day = |text: Option<String>| match text {
            None => Ok(None),
            Some(text) => UtcDay::parse_iso(&text).map(Some).ok_or(AnswerError::Date(number, text)),
        };
        let (valid_from, valid_until) = (day(self.from)?, day(self.until)?);
        if matches!((valid_from, valid_until), (Some(from), Some(until)) if until < from) {
            return Err(AnswerError::Validity(number));
        }
        Ok(ObservationDraft {
            speaker: self.speaker,
            kind: self.kind,
            completion: self.completion,
            text,
            span,
            valid_from,
            valid_until,
            supersedes: self.supersedes,
        })
    }
}

/// The answer of the reflector. Observations that it does not name stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reflection {
    #[serde(default)]
    pub merge: Vec<Merge>,
    #[serde(default)]
    pub supersede: Vec<Supersession>,
}

/// Several observations in one text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    pub ids: Vec<u64>,
    pub text: String,
    /// The identifiers, numbers and dates that the text leaves out on purpose.
    #[serde(default)]
    pub omits: Vec<String>,
}

/// An observation that a later one replaces.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supersession {
    pub id: u64,
    pub by: u64,
    /// The identifiers, numbers and dates that the later one does not have.
    #[serde(default)]
    pub omits: Vec<String>,
}

/// Parses the answer of the reflector.
pub fn parse_reflection(text: &str) -> Result<Reflection, AnswerError> {
    let mut reflection: Reflection = parse(text)?;
    for (number, merge) in (1..).zip(&mut reflection.merge) {
        merge.text = checked_text(&merge.text).ok_or(AnswerError::Text(number))?;
    }
    Ok(reflection)
}

/// Returns the text in one line, unless it is empty or too long.
fn checked_text(text: &str) -> Option<String> {
    let line: Vec<&str> = text.split_whitespace().collect();
    Some(line.join(" ")).filter(|text| !text.is_empty() && text.len() <= MAX_TEXT_BYTES)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, AnswerError> {
    let text = text.trim();
    // Models that are asked for JSON often put it into a code block.
    let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let inner = fenced.and_then(|rest| rest.strip_suffix("```")).unwrap_or(text);
    serde_json::from_str(inner).map_err(|error| AnswerError::Form(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{AnswerError, parse_observations, parse_reflection};
    use crate::memory::observation::Speaker;

    const SHOWN: &[(i64, Speaker)] =
        &[(10, Speaker::User), (11, Speaker::User), (12, Speaker::User), (13, Speaker::Tool)];

    fn error(members: &str) -> AnswerError {
        let text = format!("{{\"observations\":[{{\"speaker\":\"user\",{members}}}]}}");
        parse_observations(&text, SHOWN, &[3]).unwrap_err()
    }

    #[test]
    fn an_answer_of_the_exact_form_is_read() {
        let text = r#"```json
            {"observations":[{"speaker":"user","kind":"task","completion":"open","text":" Book\n a table ",
             "first":11,"last":12,"from":"2026-11-18","until":null,"supersedes":[3]}]}
            ```"#;
        let drafts = parse_observations(text, SHOWN, &[3]).unwrap();
        let [draft] = &drafts[..] else { panic!("{drafts:?}") };
        assert_eq!(
            (draft.text.as_str(), draft.span.first, &draft.supersedes[..]),
            ("Book a table", 11, &[3][..])
        );
        assert_eq!(parse_observations("{\"observations\":[]}", SHOWN, &[]).unwrap(), []);
    }

    #[test]
    fn any_other_answer_is_an_error() {
        assert!(matches!(
            parse_observations("I saw nothing.", SHOWN, &[]),
            Err(AnswerError::Form(_))
        ));
        assert!(matches!(
            parse_observations("{\"observations\":[]} Done!", SHOWN, &[]),
            Err(AnswerError::Form(_))
        ));
        assert!(matches!(
            error(r#""kind":"rumour","text":"x","first":10,"last":10"#),
            AnswerError::Form(_)
        ));
        assert!(matches!(
            error(r#""kind":"task","text":"x","first":10,"last":10,"sure":1"#),
            AnswerError::Form(_)
        ));
        assert_eq!(
            error(r#""kind":"assertion","text":" ","first":10,"last":10"#),
            AnswerError::Text(1)
        );
        assert_eq!(
            error(r#""kind":"assertion","text":"x","first":9,"last":10"#),
            AnswerError::Span(1)
        );
        assert_eq!(
            error(r#""kind":"assertion","text":"x","first":12,"last":11"#),
            AnswerError::Span(1)
        );
        assert_eq!(
            error(r#""kind":"preference","text":"x","first":13,"last":13"#),
            AnswerError::Speaker(1)
        );
        assert_eq!(
            error(r#""kind":"task","text":"x","first":10,"last":10"#),
            AnswerError::Completion(1)
        );
        assert_eq!(
            error(r#""kind":"assertion","completion":"open","text":"x","first":10,"last":10"#),
            AnswerError::Completion(1)
        );
        assert_eq!(
            error(r#""kind":"assertion","text":"x","first":10,"last":10,"supersedes":[4]"#),
            AnswerError::Supersedes(1, 4)
        );
        assert_eq!(
            error(r#""kind":"assertion","text":"x","first":10,"last":10,"from":"soon""#),
            AnswerError::Date(1, "soon".into())
        );
        assert_eq!(
            error(
                r#""kind":"assertion","text":"x","first":10,"last":10,"from":"2026-02-02","until":"2026-02-01""#
            ),
            AnswerError::Validity(1)
        );
        assert!(matches!(parse_reflection("{\"drop\":[1]}"), Err(AnswerError::Form(_))));
    }

    proptest! {
        #[test]
        fn no_answer_panics(text in any::<String>(), head in "(\\{\"observations\":\\[)?(```json)?") {
            let text = format!("{head}{text}");
            let _ = parse_observations(&text, SHOWN, &[1]);
            let _ = parse_reflection(&text);
        }
    }
}
