//! `acknowledge_insight`: the agency's PM takes note of an insight.

use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{CallError, ExchangeCall, ExchangeTool};
use super::decide_issue::parse_id;
use super::effect::ExchangeEffect;

pub(super) struct AcknowledgeInsight;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The id of the insight.
    insight: String,
}

impl ExchangeTool for AcknowledgeInsight {
    const DESCRIPTION: &'static str =
        "Take note of an insight that a client shared, so that it is not listed again.";
    type Arguments = Arguments;

    async fn run(
        Arguments { insight }: Arguments,
        call: &ExchangeCall<'_>,
    ) -> Result<(ExchangeEffect, String), CallError> {
        let id = parse_id("insight", &insight)?;
        let decider = call.decider();
        Ok((ExchangeEffect::AcknowledgeInsight { id, decider }, "Acknowledged.".to_owned()))
    }
}
