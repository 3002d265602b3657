//! `share_insight_upward`: tells the parent agency what was learned.

use ostler_domain::hierarchy::insight::{Insight, InsightCategory};
use ostler_domain::hierarchy::route::insight_target;
use ostler_domain::id::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{CallError, ExchangeCall, ExchangeTool};
use super::effect::ExchangeEffect;
use crate::ids::fresh;

pub(super) struct ShareInsightUpward;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What you learned.
    insight: String,
    category: Category,
    /// Data or examples that support it.
    #[serde(default)]
    evidence: Option<String>,
}

/// What the insight is about.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Category {
    CustomerTrend,
    ProductFeedback,
    Performance,
    Suggestion,
}

impl ExchangeTool for ShareInsightUpward {
    const DESCRIPTION: &'static str = "Share a learning, a pattern or a suggestion that is not \
        urgent with those who manage the organization. Nobody is notified; they read it later.";
    type Arguments = Arguments;

    async fn run(
        Arguments { insight, category, evidence }: Arguments,
        call: &ExchangeCall<'_>,
    ) -> Result<(ExchangeEffect, String), CallError> {
        let own = &call.turn.view.org;
        let target = insight_target(own)?;
        let category = match category {
            Category::CustomerTrend => InsightCategory::CustomerTrend,
            Category::ProductFeedback => InsightCategory::ProductFeedback,
            Category::Performance => InsightCategory::Performance,
            Category::Suggestion => InsightCategory::Suggestion,
        };
        let insight = Insight::new(own.id, target, &insight, category, evidence)?;
        let insight = Box::new(Insight { sender: call.sender(), ..insight });
        let id = fresh(RecordId::from_u128);
        Ok((ExchangeEffect::ShareInsight { id, insight }, "Shared.".to_owned()))
    }
}
