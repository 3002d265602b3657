//! Reads answers.

use ostler_engine::model::{StopReason, Usage};
use serde_json::Value as Json;

use super::fault::{fault, wire};
use crate::scripted::error::{Wrong, unknown};
use crate::scripted::script::{Answer, Answers, Arguments, Call, Pace, Wire};
use crate::scripted::template::{Groups, JsonTemplate, Template};
use crate::scripted::yaml::{Fields, Node, Value};

const ANSWER: &[&str] =
    &["text", "call", "with", "calls", "stop", "usage", "delay", "pause", "chunk", "fail", "wire"];
const CALL: &[&str] = &["tool", "with", "raw", "id"];
const STOP: [(&str, StopReason); 4] = [
    ("end", StopReason::End),
    ("tool_calls", StopReason::ToolCalls),
    ("max_tokens", StopReason::MaxTokens),
    ("filtered", StopReason::Filtered),
];

/// What holds for every answer that does not say otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Defaults {
    pace: Pace,
    usage: Option<Usage>,
}

impl Defaults {
    pub(super) fn read(fields: Fields<'_>) -> Result<Self, Wrong> {
        let pace = pace(fields, Pace::default())?;
        Ok(Self { pace, usage: fields.read("usage", usage)? })
    }
}

/// One answer, or a list of them: step after step.
pub(super) fn answers(node: &Node, groups: &Groups, defaults: &Defaults) -> Result<Answers, Wrong> {
    match &node.value {
        Value::List(steps) if steps.is_empty() => {
            Err(node.wrong("this list of answers is empty; write at least one"))
        }
        Value::List(steps) => {
            let steps = steps.iter().map(|node| step(node, groups, defaults));
            Ok(Answers::Steps(steps.collect::<Result<_, _>>()?))
        }
        _ => Ok(Answers::One(answer(node, groups, defaults)?)),
    }
}

/// A step that fails leaves nothing behind, so the next request would be that
/// same step again, and no later one would ever come.
fn step(node: &Node, groups: &Groups, defaults: &Defaults) -> Result<Answer, Wrong> {
    let answer = answer(node, groups, defaults)?;
    match answer.fault {
        None => Ok(answer),
        Some(_) => Err(node.wrong(
            "a step cannot `fail`: it would be asked for again and again; write a rule of its \
             own for it, with `step:` and `times:`",
        )),
    }
}

/// A text, or a mapping that says more.
fn answer(node: &Node, groups: &Groups, defaults: &Defaults) -> Result<Answer, Wrong> {
    if !matches!(node.value, Value::Map(_)) {
        return Ok(Answer {
            text: Some(template(node, groups)?),
            calls: Vec::new(),
            stop: None,
            usage: defaults.usage,
            pace: defaults.pace,
            fault: None,
            wire: Wire::default(),
        });
    }
    let fields = node.fields("an answer", ANSWER)?;
    let answer = Answer {
        text: fields.read("text", |node| template(node, groups))?,
        calls: calls(node, fields, groups)?,
        stop: fields.read("stop", stop)?,
        usage: fields.read("usage", usage)?.or(defaults.usage),
        pace: pace(fields, defaults.pace)?,
        fault: fields.read("fail", fault)?,
        wire: fields.read("wire", wire)?.unwrap_or_default(),
    };
    if answer.text.is_none() && answer.calls.is_empty() && answer.fault.is_none() {
        return Err(node.wrong("an answer has a `text`, a `call`, `calls` or a `fail`"));
    }
    Ok(answer)
}

fn template(node: &Node, groups: &Groups) -> Result<Template, Wrong> {
    Template::new(node.text()?, groups).map_err(|what| node.wrong(what))
}

fn calls(node: &Node, fields: Fields<'_>, groups: &Groups) -> Result<Vec<Call>, Wrong> {
    let (one, with, more) = (fields.get("call"), fields.get("with"), fields.get("calls"));
    match (one, with, more) {
        (Some(tool), with, None) => {
            let tool = template(tool, groups)?;
            Ok(vec![Call { tool, id: None, arguments: arguments(with, groups)? }])
        }
        (None, None, Some(calls)) => {
            calls.one_or_more().iter().map(|node| call(node, groups)).collect()
        }
        (None, None, None) => Ok(Vec::new()),
        (Some(_), _, Some(_)) => {
            Err(node.wrong("write one `call`, or several in `calls`, but not both"))
        }
        (None, Some(with), _) => {
            Err(with.wrong("`with` has the arguments of a `call`; in `calls`, each has its own"))
        }
    }
}

fn call(node: &Node, groups: &Groups) -> Result<Call, Wrong> {
    let fields = node.fields("a call", CALL)?;
    let tool = fields.get("tool").ok_or_else(|| node.wrong("this call has no `tool`"))?;
    let arguments = match (fields.get("with"), fields.get("raw")) {
        (with, None) => arguments(with, groups)?,
        (None, Some(raw)) => Arguments::Raw(template(raw, groups)?),
        (Some(_), Some(raw)) => return Err(raw.wrong("write `with` or `raw`, but not both")),
    };
    let id = fields.read("id", |node| template(node, groups))?;
    Ok(Call { tool: template(tool, groups)?, id, arguments })
}

fn arguments(node: Option<&Node>, groups: &Groups) -> Result<Arguments, Wrong> {
    let nothing = || JsonTemplate::Plain(Json::Object(serde_json::Map::new()));
    match node {
        None => Ok(Arguments::Json(nothing())),
        Some(node @ Node { value: Value::Map(_), .. }) => Ok(Arguments::Json(json(node, groups)?)),
        Some(other) => Err(other.wrong("arguments are a mapping, like `{ order: \"42\" }`")),
    }
}

fn json(node: &Node, groups: &Groups) -> Result<JsonTemplate, Wrong> {
    Ok(match &node.value {
        Value::Null => JsonTemplate::Plain(Json::Null),
        Value::Bool(flag) => JsonTemplate::Plain(Json::Bool(*flag)),
        Value::Number(number) => JsonTemplate::Plain(Json::Number(number.clone())),
        Value::Text(text) => match number_hole(text) {
            Some(hole) => {
                JsonTemplate::Number(Template::new(&hole, groups).map_err(|what| node.wrong(what))?)
            }
            None => JsonTemplate::Text(template(node, groups)?),
        },
        Value::List(items) => {
            let items = items.iter().map(|item| json(item, groups));
            JsonTemplate::List(items.collect::<Result<_, _>>()?)
        }
        Value::Map(members) => {
            let member = |(key, node): &(crate::scripted::yaml::Key, Node)| {
                Ok((key.name.clone(), json(node, groups)?))
            };
            JsonTemplate::Map(members.iter().map(member).collect::<Result<_, _>>()?)
        }
    })
}

/// `{order:number}` alone is a number and not a text.
fn number_hole(text: &str) -> Option<String> {
    let name = text.strip_prefix('{')?.strip_suffix(":number}")?;
    Some(format!("{{{name}}}"))
}

fn stop(node: &Node) -> Result<StopReason, Wrong> {
    let name = node.text()?;
    let known = STOP.iter().find(|(known, _)| *known == name);
    known.map(|(_, stop)| *stop).ok_or_else(|| {
        let hint = unknown(name, &STOP.map(|(known, _)| known));
        node.wrong(format!("no answer stops with `{name}`; {hint}"))
    })
}

fn usage(node: &Node) -> Result<Usage, Wrong> {
    let fields = node.fields("`usage`", &["input", "output", "cached", "written"])?;
    let count = |name: &str| fields.read(name, |node| node.count(0));
    let usage = Usage {
        input: count("input")?.unwrap_or_default(),
        output: count("output")?.unwrap_or_default(),
        cached: count("cached")?.unwrap_or_default(),
        written: count("written")?.unwrap_or_default(),
    };
    if usage.cached > usage.input {
        return Err(node.wrong("`cached` is a part of `input` and cannot be more"));
    }
    if usage.written > usage.input - usage.cached {
        return Err(node.wrong("`written` is a part of `input` besides `cached`"));
    }
    Ok(usage)
}

fn pace(fields: Fields<'_>, usual: Pace) -> Result<Pace, Wrong> {
    let chunk = fields.read("chunk", |node| node.count(1))?;
    let chunk = chunk.map(|characters| usize::try_from(characters).unwrap_or(usize::MAX));
    Ok(Pace {
        delay: fields.read("delay", Node::duration)?.unwrap_or(usual.delay),
        pause: fields.read("pause", Node::duration)?.unwrap_or(usual.pause),
        chunk: chunk.or(usual.chunk),
    })
}
