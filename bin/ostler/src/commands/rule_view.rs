//! The setting behind a decision on a tool call, for people.

use ostler_runtime::operations::RuleSource;

use super::session::view::format_time;
use crate::screen::count;

/// Describes the setting, who set it and when, and the file and line it was applied from.
pub(crate) fn describe_rule(rule: Option<&RuleSource>) -> String {
    let Some(rule) = rule else { return "built in; no setting changes it".to_owned() };
    let source = match (&rule.set_by, rule.set_at) {
        (Some(by), Some(at)) => format!("set by {by}, {}", format_time(at)),
        _ => "as it was set up".to_owned(),
    };
    let place = rule.place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
    format!("{} of {}, {source}{place}", rule.field, rule.resource)
}

/// Says how many recorded calls the setting kept from running.
pub(crate) fn past_calls(rule: &RuleSource) -> String {
    format!("{} of the last 7 days", count(rule.past_calls as u64, "call"))
}
