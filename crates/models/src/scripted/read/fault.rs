//! Reads faults, and what is odd on the wire.

use ostler_engine::model::ModelErrorKind;

use crate::scripted::error::Wrong;
use crate::scripted::script::{Fault, Wire};
use crate::scripted::yaml::{Node, Value};

const FAULT: &[&str] = &["how", "after", "message", "retry_after"];
const WIRE: &[&str] = &["split", "keep_alive", "no_done"];
const HOW: &str = "write a status like `429`, or one of `cut`, `malformed`, `timeout`, `network`";

/// How an answer fails, or a mapping that says more.
pub(super) fn fault(node: &Node) -> Result<Fault, Wrong> {
    if !matches!(node.value, Value::Map(_)) {
        let kind = how(node)?;
        return Ok(Fault { kind, after: usual(kind), message: None, retry_after: None });
    }
    let fields = node.fields("`fail`", FAULT)?;
    let kind =
        how(fields.get("how").ok_or_else(|| node.wrong(format!("`how` is missing; {HOW}")))?)?;
    let after = fields.read("after", |node| node.count(0))?;
    Ok(Fault {
        kind,
        after: after.map_or(usual(kind), |after| usize::try_from(after).unwrap_or(usize::MAX)),
        message: fields.read("message", Node::text)?.map(str::to_owned),
        retry_after: fields.read("retry_after", Node::duration)?,
    })
}

/// What spoils an answer comes after its first piece; what replaces it, before.
const fn usual(kind: ModelErrorKind) -> usize {
    match kind {
        ModelErrorKind::Cut | ModelErrorKind::Malformed => 1,
        _ => 0,
    }
}

fn how(node: &Node) -> Result<ModelErrorKind, Wrong> {
    match &node.value {
        Value::Number(number) => number
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status))
            .map(ModelErrorKind::Status)
            .ok_or_else(|| node.wrong("a status that fails is from 400 to 599")),
        Value::Text(word) => match word.as_str() {
            "cut" => Ok(ModelErrorKind::Cut),
            "malformed" => Ok(ModelErrorKind::Malformed),
            "timeout" => Ok(ModelErrorKind::TimedOut),
            "network" => Ok(ModelErrorKind::Network),
            other => Err(node.wrong(format!("nothing fails with `{other}`; {HOW}"))),
        },
        _ => Err(node.wrong(HOW)),
    }
}

pub(super) fn wire(node: &Node) -> Result<Wire, Wrong> {
    let fields = node.fields("`wire`", WIRE)?;
    let split = fields.read("split", |node| node.count(1))?;
    Ok(Wire {
        split: split.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        keep_alive: fields.read("keep_alive", Node::flag)?.unwrap_or_default(),
        no_done: fields.read("no_done", Node::flag)?.unwrap_or_default(),
    })
}
