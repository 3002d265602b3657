//! The setting behind a decision on a tool call, for people.

use ostler_api::transcript::{DecisionRule, RuleSetting};

use super::session::view::format_time;
use crate::screen::count;

/// Describes the setting of a rule, if there is one.
pub(crate) fn describe_rule(rule: &DecisionRule) -> String {
    let built_in = || "built in; no setting changes it".to_owned();
    rule.setting.as_ref().map_or_else(built_in, describe_setting)
}

/// Describes the setting, who set it and when, and the file and line it was applied from.
pub(crate) fn describe_setting(rule: &RuleSetting) -> String {
    let source = match (&rule.set_by, rule.set_at) {
        (Some(by), Some(at)) => format!("set by {by}, {}", format_time(at)),
        _ => "as it was set up".to_owned(),
    };
    let place = rule.place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
    format!("{} of {}, {source}{place}", rule.field, rule.resource)
}

/// Says how many recorded calls the setting kept from running.
pub(crate) fn past_calls(rule: &RuleSetting) -> String {
    format!("{} of the last 7 days", count(rule.past_calls as u64, "call"))
}
