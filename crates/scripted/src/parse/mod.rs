//! Parses scripts: serde reads the YAML, then the templates are compiled and the answers
//! checked. Errors name the position and the remedy.

mod answer;
mod fault;
mod forms;
mod settings;
mod when;

use std::time::Duration;

use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::Usage;
use serde::Deserialize;
use serde_saphyr::Spanned;

use self::answer::{AnswerCompiler, AnswerSource, Defaults};
pub(super) use self::forms::one_or_more;
pub(super) use self::settings::positive;
use self::settings::{dollars, usage, wait};
use super::condition::Condition;
use super::error::ParseError;
use super::script::{Rule, Script, Timing};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ScriptFields {
    model: Option<String>,
    price: Option<PriceFields>,
    strict: Option<bool>,
    #[serde(deserialize_with = "wait")]
    delay: Option<Duration>,
    #[serde(deserialize_with = "wait")]
    pause: Option<Duration>,
    #[serde(deserialize_with = "positive")]
    chunk: Option<usize>,
    #[serde(deserialize_with = "usage")]
    usage: Option<Usage>,
    rules: Option<Vec<Spanned<RuleFields>>>,
    default: Option<Spanned<AnswerSource>>,
}

/// Prices, free by default.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PriceFields {
    #[serde(deserialize_with = "dollars")]
    input: Option<Usd>,
    #[serde(deserialize_with = "dollars")]
    output: Option<Usd>,
    #[serde(deserialize_with = "dollars")]
    cached_input: Option<Usd>,
    #[serde(deserialize_with = "dollars")]
    cache_write: Option<Usd>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RuleFields {
    #[serde(rename = "name")]
    _name: Option<String>,
    when: Option<Condition>,
    #[serde(deserialize_with = "positive")]
    times: Option<u64>,
    answer: Option<Spanned<AnswerSource>>,
}

pub(super) fn script(text: &str) -> Result<Script, ParseError> {
    // `yes` and `no` are things that people say; numbers as texts need quotes.
    let options = serde_saphyr::options! { strict_booleans: true, no_schema: true };
    let script: Spanned<ScriptFields> = serde_saphyr::from_str_with_options(text, options)?;
    let fields = script.value;
    let timing = Timing {
        delay: fields.delay.unwrap_or_default(),
        pause: fields.pause.unwrap_or_default(),
        chunk: fields.chunk,
    };
    let defaults = Defaults { timing, usage: fields.usage };
    let rules = fields.rules.unwrap_or_default().into_iter();
    let rules = rules.map(|fields| rule(fields, defaults)).collect::<Result<Vec<_>, _>>()?;
    let compiler = AnswerCompiler { groups: &[], defaults };
    let default = fields.default.map(|answers| compiler.answers(answers)).transpose()?;
    if rules.is_empty() && default.is_none() {
        let message = "the script has no answers; it needs `rules` or a `default`";
        return Err(ParseError::new(script.referenced, message));
    }
    let price = fields.price.unwrap_or_default();
    Ok(Script {
        model: fields.model.unwrap_or_else(|| "scripted".to_owned()),
        price: ModelPrice {
            input: price.input.unwrap_or_default(),
            output: price.output.unwrap_or_default(),
            cached_input: price.cached_input,
            cache_write: price.cache_write,
        },
        strict: fields.strict.unwrap_or_default(),
        rules,
        default,
    })
}

fn rule(fields: Spanned<RuleFields>, defaults: Defaults) -> Result<Rule, ParseError> {
    let RuleFields { when, times, answer, .. } = fields.value;
    let when = when.unwrap_or_default();
    let answer = answer.ok_or_else(|| {
        let message = "this rule has no answer; write `answer:` and a text, or a `call`";
        ParseError::new(fields.referenced, message)
    })?;
    let location = answer.referenced;
    let answers = AnswerCompiler { groups: &when.groups(), defaults }.answers(answer)?;
    if answers.has_steps() && (when.step.is_some() || when.result.is_some()) {
        return Err(ParseError::new(
            location,
            "a list answers step after step, so its rule has no `step` and no `result`; \
             write one answer, or leave them out",
        ));
    }
    Ok(Rule { when, times, answers })
}
