//! Parses answers.

use std::collections::BTreeMap;

use ostler_engine::model::StopReason;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};

use super::forms::{Forms, deserialize_forms};
use super::settings::{ReportedUsage, Wait, positive};
use crate::error::ParseError;
use crate::script::{Answer, Answers, Arguments, Call, Fault, Timing, WireQuirks};
use crate::template::{JsonTemplate, Template};

deserialize_forms!(AnswerSource, AnswersSource);

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AnswerFields {
    text: Option<Spanned<String>>,
    call: Option<Spanned<String>>,
    with: Option<Spanned<ArgumentFields>>,
    calls: Option<Vec<Spanned<CallFields>>>,
    stop: Option<StopReason>,
    usage: Option<ReportedUsage>,
    delay: Option<Wait>,
    pause: Option<Wait>,
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

/// A text, or a mapping with more settings.
pub(super) struct AnswerSource(AnswerFields);

impl Forms for AnswerSource {
    const EXPECTED: &'static str = "a text";

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        let Value::String(text) = scalar else {
            return Err("a text is expected here; put it in quotes".to_owned());
        };
        // The position is the answer's.
        let text = Spanned::new(text, Location::UNKNOWN, Location::UNKNOWN);
        Ok(Self(AnswerFields { text: Some(text), ..AnswerFields::default() }))
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        AnswerFields::deserialize(map).map(Self)
    }
}

/// One answer, or a list of steps.
pub(super) enum AnswersSource {
    One(AnswerSource),
    Steps(Vec<Spanned<AnswerSource>>),
}

impl Forms for AnswersSource {
    const EXPECTED: &'static str = AnswerSource::EXPECTED;

    fn from_scalar(scalar: Value) -> Result<Self, String> {
        AnswerSource::from_scalar(scalar).map(Self::One)
    }

    fn from_list<'de, D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Vec::deserialize(list).map(Self::Steps)
    }

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        AnswerSource::from_map(map).map(Self::One)
    }
}

/// Settings of answers that set none themselves.
pub(super) struct Defaults {
    pub(super) timing: Timing,
    pub(super) usage: Option<ReportedUsage>,
}

/// Compiles the answers of a rule.
pub(super) struct AnswerCompiler<'c> {
    /// The names of the groups that the rule captures.
    pub(super) groups: &'c [&'c str],
    pub(super) defaults: &'c Defaults,
}

impl AnswerCompiler<'_> {
    pub(super) fn answers(&self, source: Spanned<AnswersSource>) -> Result<Answers, ParseError> {
        let location = source.referenced;
        match source.value {
            AnswersSource::One(answer) => Ok(Answers::One(self.answer(answer, location)?)),
            AnswersSource::Steps(steps) if steps.is_empty() => {
                Err(ParseError::new(location, "this list of answers is empty; write at least one"))
            }
            AnswersSource::Steps(steps) => {
                let steps = steps.into_iter().map(|step| self.step(step));
                Ok(Answers::Steps(steps.collect::<Result<_, _>>()?))
            }
        }
    }

    /// Compiles a step. A step cannot fail: it would leave no trace in the conversation,
    /// so the next request would be the same step again.
    fn step(&self, source: Spanned<AnswerSource>) -> Result<Answer, ParseError> {
        let answer = self.answer(source.value, source.referenced)?;
        match answer.fault {
            None => Ok(answer),
            Some(_) => Err(ParseError::new(
                source.referenced,
                "a step cannot `fail`: it would be asked for again and again; write a rule of its \
                 own for it, with `step:` and `times:`",
            )),
        }
    }

    fn answer(&self, source: AnswerSource, location: Location) -> Result<Answer, ParseError> {
        let AnswerSource(fields) = source;
        let text = fields.text.map(|mut text| {
            if text.referenced == Location::UNKNOWN {
                text.referenced = location;
            }
            self.template(text)
        });
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
            text: text.transpose()?,
            calls,
            stop: fields.stop,
            usage: fields.usage.or(self.defaults.usage).map(|ReportedUsage(usage)| usage),
            timing: self.defaults.timing.with(fields.delay, fields.pause, fields.chunk),
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
        Ok(Call { tool, id: id.map(|id| self.template(id)).transpose()?, arguments })
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

    fn template(&self, text: Spanned<String>) -> Result<Template, ParseError> {
        let Spanned { value, referenced, .. } = text;
        Template::new(value, self.groups).map_err(|message| ParseError::new(referenced, message))
    }
}
