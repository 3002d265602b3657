//! Parses answers.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_engine::model::{StopReason, Usage};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::forms::{Forms, NOT_A_TEXT, deserialize_forms};
use super::settings::{positive, usage, wait};
use crate::error::ParseError;
use crate::script::{Answer, Answers, Arguments, Call, Fault, Timing, WireQuirks};
use crate::template::{JsonTemplate, Template};

deserialize_forms!(AnswerSource);

/// A text, a mapping with more settings, or a list of steps.
pub(super) enum AnswerSource {
    Text(String),
    Fields(Box<AnswerFields>),
    Steps(Vec<Spanned<Self>>),
}

impl Forms for AnswerSource {
    fn from_scalar(scalar: Value) -> Result<Self, String> {
        Ok(Self::Text(scalar.as_str().ok_or(NOT_A_TEXT)?.to_owned()))
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        Box::deserialize(map).map(Self::Fields)
    }

    fn from_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Vec::deserialize(list).map(Self::Steps)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AnswerFields {
    text: Option<Spanned<String>>,
    call: Option<Spanned<String>>,
    with: Option<Spanned<ArgumentFields>>,
    calls: Option<Vec<Spanned<CallFields>>>,
    stop: Option<StopReason>,
    #[serde(deserialize_with = "usage")]
    usage: Option<Usage>,
    #[serde(deserialize_with = "wait")]
    delay: Option<Duration>,
    #[serde(deserialize_with = "wait")]
    pause: Option<Duration>,
    #[serde(deserialize_with = "positive")]
    chunk: Option<usize>,
    fail: Option<Fault>,
    wire: Option<WireQuirks>,
}

type ArgumentFields = BTreeMap<String, Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallFields {
    tool: Option<Spanned<String>>,
    with: Option<Spanned<ArgumentFields>>,
    raw: Option<Spanned<String>>,
    id: Option<Spanned<String>>,
}

/// Settings of answers that set none themselves.
#[derive(Clone, Copy)]
pub(super) struct Defaults {
    pub(super) timing: Timing,
    pub(super) usage: Option<Usage>,
}

/// Compiles the answers of a rule.
pub(super) struct AnswerCompiler<'c> {
    /// The names of the groups that the rule captures.
    pub(super) groups: &'c [&'c str],
    pub(super) defaults: Defaults,
}

impl AnswerCompiler<'_> {
    pub(super) fn answers(&self, source: Spanned<AnswerSource>) -> Result<Answers, ParseError> {
        match source.value {
            AnswerSource::Steps(steps) if steps.is_empty() => {
                let message = "this list of answers is empty; write at least one";
                Err(ParseError::new(source.referenced, message))
            }
            AnswerSource::Steps(steps) => {
                let steps = steps.into_iter().map(|step| self.step(step));
                Ok(Answers::Steps(steps.collect::<Result<_, _>>()?))
            }
            AnswerSource::Text(_) | AnswerSource::Fields(_) => {
                self.build_answer(source).map(Answers::One)
            }
        }
    }

    /// Compiles a step. A step cannot fail: it would leave no trace in the conversation,
    /// so the next request would be the same step again.
    fn step(&self, source: Spanned<AnswerSource>) -> Result<Answer, ParseError> {
        let location = source.referenced;
        let answer = self.build_answer(source)?;
        match answer.fault {
            None => Ok(answer),
            Some(_) => Err(ParseError::new(
                location,
                "a step cannot `fail`: it would be asked for again and again; write a rule of its \
                 own for it, with `step:` and `times:`",
            )),
        }
    }

    fn build_answer(&self, source: Spanned<AnswerSource>) -> Result<Answer, ParseError> {
        let location = source.referenced;
        let fields = match source.value {
            AnswerSource::Fields(fields) => *fields,
            AnswerSource::Text(text) => {
                let text = Some(Spanned::new(text, location, location));
                AnswerFields { text, ..AnswerFields::default() }
            }
            AnswerSource::Steps(_) => return Err(ParseError::new(location, NOT_A_TEXT)),
        };
        let calls = match (fields.call, fields.with, fields.calls) {
            (Some(tool), with, None) => vec![Call {
                tool: self.template(tool)?,
                id: None,
                arguments: self.arguments(with)?,
            }],
            (None, None, calls) => {
                let calls = calls.unwrap_or_default().into_iter().map(|call| self.call(call));
                calls.collect::<Result<_, _>>()?
            }
            (Some(_), _, Some(_)) => {
                let message = "write one `call`, or several in `calls`, but not both";
                return Err(ParseError::new(location, message));
            }
            (None, Some(with), _) => {
                let message =
                    "`with` holds the arguments of `call`; in `calls`, each call has its own";
                return Err(ParseError::new(with.referenced, message));
            }
        };
        let answer = Answer {
            text: self.optional(fields.text)?,
            calls,
            stop: fields.stop,
            usage: fields.usage.or(self.defaults.usage),
            timing: Timing {
                delay: fields.delay.unwrap_or(self.defaults.timing.delay),
                pause: fields.pause.unwrap_or(self.defaults.timing.pause),
                chunk: fields.chunk.or(self.defaults.timing.chunk),
            },
            fault: fields.fail,
            wire: fields.wire.unwrap_or_default(),
        };
        if answer.text.is_none() && answer.calls.is_empty() && answer.fault.is_none() {
            let message = "an answer has a `text`, a `call`, `calls` or a `fail`";
            return Err(ParseError::new(location, message));
        }
        Ok(answer)
    }

    fn call(&self, call: Spanned<CallFields>) -> Result<Call, ParseError> {
        let CallFields { tool, with, raw, id } = call.value;
        let missing = || ParseError::new(call.referenced, "this call has no `tool`");
        let tool = self.template(tool.ok_or_else(missing)?)?;
        let arguments = match (with, raw) {
            (with, None) => self.arguments(with)?,
            (None, Some(raw)) => Arguments::Raw(self.template(raw)?),
            (Some(_), Some(raw)) => {
                let message = "write `with` or `raw`, but not both";
                return Err(ParseError::new(raw.referenced, message));
            }
        };
        Ok(Call { tool, id: self.optional(id)?, arguments })
    }

    fn arguments(&self, with: Option<Spanned<ArgumentFields>>) -> Result<Arguments, ParseError> {
        let arguments = with.map_or_else(BTreeMap::new, |with| with.value);
        let arguments = arguments.into_iter().map(|(name, argument)| {
            let argument = JsonTemplate::new(argument.value, self.groups)
                .map_err(|message| ParseError::new(argument.referenced, message))?;
            Ok((name, argument))
        });
        Ok(Arguments::Json(JsonTemplate::Map(arguments.collect::<Result<_, ParseError>>()?)))
    }

    fn optional(&self, text: Option<Spanned<String>>) -> Result<Option<Template>, ParseError> {
        text.map(|text| self.template(text)).transpose()
    }

    fn template(&self, text: Spanned<String>) -> Result<Template, ParseError> {
        let Spanned { value, referenced, .. } = text;
        Template::new(value, self.groups).map_err(|message| ParseError::new(referenced, message))
    }
}
