//! `decide_issue`: the PM acknowledges, resolves or dismisses an issue.

use ostler_domain::hierarchy::MissingField;
use ostler_domain::hierarchy::issue::IssueDecision;
use ostler_domain::id::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{CallError, ExchangeCall, ExchangeTool};
use super::effect::ExchangeEffect;

pub(super) struct DecideIssue;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The id of the issue.
    issue: String,
    decision: Decision,
    /// What was decided, for the agent that sent the issue. Needed to resolve it.
    #[serde(default)]
    resolution: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Decision {
    /// You have seen it and are working on it. This comes first.
    Acknowledge,
    Resolve,
    /// Nothing will be done.
    Dismiss,
}

impl ExchangeTool for DecideIssue {
    const DESCRIPTION: &'static str = "Decide on an issue that was sent to you: acknowledge it, \
        then resolve or dismiss it. The agent that sent it is told.";
    type Arguments = Arguments;

    async fn run(
        Arguments { issue, decision, resolution }: Arguments,
        call: &ExchangeCall<'_>,
    ) -> Result<(ExchangeEffect, String), CallError> {
        let id = parse_id("issue", &issue)?;
        let (decision, text) = match decision {
            Decision::Acknowledge => (IssueDecision::Acknowledge, "Acknowledged."),
            Decision::Dismiss => (IssueDecision::Dismiss, "Dismissed."),
            Decision::Resolve if resolution.trim().is_empty() => {
                return Err(MissingField("resolution").into());
            }
            Decision::Resolve => (IssueDecision::Resolve(resolution), "Resolved."),
        };
        let decider = call.decider();
        Ok((ExchangeEffect::DecideIssue { id, decision, decider }, text.to_owned()))
    }
}

/// Parses the id of a record that a model names.
pub(super) fn parse_id(what: &str, text: &str) -> Result<RecordId, CallError> {
    let not_found = |_| CallError::NotFound(format!("there is no {what} `{}`", text.trim()));
    text.trim().parse().map_err(not_found)
}
