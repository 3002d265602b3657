//! Reads conditions.

use ostler_engine::outcome::Status;
use regex::{Regex, RegexBuilder};

use crate::scripted::condition::{ResultMatch, TextMatch, When, Which};
use crate::scripted::error::{Wrong, unknown};
use crate::scripted::template::Groups;
use crate::scripted::yaml::{Node, Value};

const WHEN: &[&str] =
    &["user", "result", "turn", "step", "agent", "model", "offered", "not_offered"];
const RESULT: &[&str] = &["tool", "status", "content"];
const TEXT: &[&str] = &["contains", "regex", "is"];

/// Every status by the name it has elsewhere, too.
const STATUS: [(&str, Status); 12] = [
    ("ok", Status::Ok),
    ("failed", Status::Failed),
    ("invalid", Status::Invalid),
    ("unknown_tool", Status::UnknownTool),
    ("denied", Status::Denied),
    ("disabled", Status::Disabled),
    ("insufficient_credits", Status::InsufficientCredits),
    ("pending_approval", Status::PendingApproval),
    ("rejected", Status::Rejected),
    ("aborted", Status::Aborted),
    ("timed_out", Status::TimedOut),
    ("outcome_unknown", Status::OutcomeUnknown),
];

pub(super) fn when(node: &Node) -> Result<When, Wrong> {
    let fields = node.fields("`when`", WHEN)?;
    Ok(When {
        user: fields.read("user", text)?,
        result: fields.read("result", result)?,
        turn: fields.read("turn", which)?,
        step: fields.read("step", which)?,
        agent: fields.read("agent", text)?,
        model: fields.read("model", text)?,
        offered: fields.read("offered", names)?.unwrap_or_default(),
        not_offered: fields.read("not_offered", names)?.unwrap_or_default(),
    })
}

/// The groups that a rule captures: those of the message, then those of the
/// result.
pub(super) fn groups(when: &When) -> Groups {
    let content = when.result.as_ref().and_then(|result| result.content.as_ref());
    let patterns = when.user.iter().chain(content);
    Groups(patterns.flat_map(TextMatch::names).collect())
}

/// A text that is to be contained, several of which one is, or a mapping that
/// says it in full.
fn text(node: &Node) -> Result<TextMatch, Wrong> {
    if !matches!(node.value, Value::Map(_)) {
        return contains(node);
    }
    let fields = node.fields("a condition on a text", TEXT)?;
    let given = (fields.get("contains"), fields.get("regex"), fields.get("is"));
    match given {
        (Some(words), None, None) => contains(words),
        (None, Some(pattern), None) => regex(pattern),
        (None, None, Some(whole)) => Ok(TextMatch::Is(whole.text()?.to_owned())),
        _ => Err(node.wrong("write one of `contains`, `regex` and `is`")),
    }
}

/// Letter case does not matter: people do not care for it.
fn contains(node: &Node) -> Result<TextMatch, Wrong> {
    let words = names(node)?;
    if words.iter().any(String::is_empty) {
        return Err(node.wrong("every text contains the empty one; leave this out"));
    }
    let escaped: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
    let regex = RegexBuilder::new(&escaped.join("|")).case_insensitive(true).build();
    regex.map(TextMatch::Pattern).map_err(|error| node.wrong(last_line(&error)))
}

fn regex(node: &Node) -> Result<TextMatch, Wrong> {
    let regex = Regex::new(node.text()?);
    regex.map(TextMatch::Pattern).map_err(|error| {
        let why = last_line(&error);
        node.wrong(format!("this is no regular expression: {why}"))
    })
}

/// What is wrong, without the picture of it.
fn last_line(error: &regex::Error) -> String {
    let said = error.to_string();
    let last = said.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

fn names(node: &Node) -> Result<Vec<String>, Wrong> {
    let items = node.one_or_more();
    if items.is_empty() {
        return Err(node.wrong("this list is empty; leave it out"));
    }
    items.iter().map(|item| item.text().map(str::to_owned)).collect()
}

/// `3`, or `3+` for all from there on.
fn which(node: &Node) -> Result<Which, Wrong> {
    let from = match &node.value {
        Value::Text(text) => text.strip_suffix('+').and_then(|number| number.parse().ok()),
        _ => return node.count(1).map(Which::Exactly),
    };
    from.map(Which::From).ok_or_else(|| node.wrong("write a number, or `3+` for all from 3 on"))
}

/// The name of a tool, or a mapping that says more.
fn result(node: &Node) -> Result<ResultMatch, Wrong> {
    if let Value::Text(tool) = &node.value {
        return Ok(ResultMatch { tool: Some(tool.clone()), ..ResultMatch::default() });
    }
    let fields = node.fields("`result`", RESULT)?;
    let statuses = |node: &Node| node.one_or_more().iter().map(status).collect();
    Ok(ResultMatch {
        tool: fields.read("tool", Node::text)?.map(str::to_owned),
        status: fields.read("status", statuses)?.unwrap_or_default(),
        content: fields.read("content", text)?,
    })
}

fn status(node: &Node) -> Result<Status, Wrong> {
    let name = node.text()?;
    let known = STATUS.iter().find(|(known, _)| *known == name);
    known.map(|(_, status)| *status).ok_or_else(|| {
        let hint = unknown(name, &STATUS.map(|(known, _)| known));
        node.wrong(format!("no result has the status `{name}`; {hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::STATUS;
    use serde_json::json;

    #[test]
    fn a_status_has_the_name_it_has_elsewhere() {
        for (name, status) in STATUS {
            assert_eq!(json!(status), json!(name));
        }
    }
}
