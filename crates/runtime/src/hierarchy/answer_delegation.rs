//! `answer_delegation`: the PM accepts, completes or rejects work from above.

use ostler_domain::hierarchy::MissingField;
use ostler_domain::hierarchy::delegation::OrgDelegationAnswer;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{CallError, ExchangeCall, ExchangeTool};
use super::decide_issue::parse_id;
use super::effect::ExchangeEffect;

pub(super) struct AnswerDelegation;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The id of the work.
    delegation: String,
    answer: Answer,
    /// What was done. Needed to complete the work.
    #[serde(default)]
    result: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// You will do it. This comes before completing it.
    Accept,
    Reject,
    Complete,
}

impl ExchangeTool for AnswerDelegation {
    const DESCRIPTION: &'static str = "Accept or reject work that was delegated to your \
        organization, and say when it is completed. Those who delegated it are told.";
    type Arguments = Arguments;

    async fn run(
        Arguments { delegation, answer, result }: Arguments,
        call: &ExchangeCall<'_>,
    ) -> Result<(ExchangeEffect, String), CallError> {
        let id = parse_id("delegation", &delegation)?;
        let (answer, text) = match answer {
            Answer::Accept => (OrgDelegationAnswer::Accept, "Accepted."),
            Answer::Reject => (OrgDelegationAnswer::Reject, "Rejected."),
            Answer::Complete if result.trim().is_empty() => {
                return Err(MissingField("result").into());
            }
            Answer::Complete => (OrgDelegationAnswer::Complete(result), "Completed."),
        };
        let decider = call.decider();
        Ok((ExchangeEffect::AnswerDelegation { id, answer, decider }, text.to_owned()))
    }
}
