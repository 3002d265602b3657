//! Insights shared with the parent agency by `share_insight_upward`. They are
//! stored for the parent's PM to read and not pushed to anyone.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Decider, DecisionRefused, MissingField, check_decider, require_text};
use crate::id::OrgId;
use crate::time::Timestamp;

/// The category of an insight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InsightCategory {
    CustomerTrend,
    ProductFeedback,
    Performance,
    Suggestion,
}

impl InsightCategory {
    /// Returns the name in files, commands and prompts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CustomerTrend => "customer_trend",
            Self::ProductFeedback => "product_feedback",
            Self::Performance => "performance",
            Self::Suggestion => "suggestion",
        }
    }
}

/// A text that is not an insight category.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of customer_trend, product_feedback, performance, suggestion")]
pub struct InvalidInsightCategory(String);

impl FromStr for InsightCategory {
    type Err = InvalidInsightCategory;

    fn from_str(text: &str) -> Result<Self, InvalidInsightCategory> {
        match text {
            "customer_trend" => Ok(Self::CustomerTrend),
            "product_feedback" => Ok(Self::ProductFeedback),
            "performance" => Ok(Self::Performance),
            "suggestion" => Ok(Self::Suggestion),
            _ => Err(InvalidInsightCategory(text.to_owned())),
        }
    }
}

/// An insight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Insight {
    pub source: OrgId,
    /// The sender in words.
    pub sender: String,
    /// The parent agency.
    pub target: OrgId,
    pub insight: String,
    pub category: InsightCategory,
    /// Supporting facts.
    pub evidence: Option<String>,
    /// When the parent's PM acknowledged it.
    pub acknowledged_at: Option<Timestamp>,
}

impl Insight {
    /// Makes an insight; the text is required.
    pub fn new(
        source: OrgId,
        target: OrgId,
        insight: &str,
        category: InsightCategory,
        evidence: Option<String>,
    ) -> Result<Self, MissingField> {
        let insight = require_text("insight", insight)?;
        let sender = String::new();
        Ok(Self { source, sender, target, insight, category, evidence, acknowledged_at: None })
    }

    /// Records that the parent's PM or one of its people took note. Only the first time
    /// counts.
    pub fn acknowledge(
        &mut self,
        decider: &Decider,
        now: Timestamp,
    ) -> Result<(), DecisionRefused> {
        check_decider(decider, self.target)?;
        self.acknowledged_at.get_or_insert(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Insight, InsightCategory, InvalidInsightCategory};
    use crate::agent::subtype::Subtype;
    use crate::hierarchy::{Decider, DecisionRefused, MissingField};
    use crate::id::{AgentId, OrgId};
    use crate::time::Timestamp;

    const BELLA: OrgId = OrgId::from_u128(3);
    const AGENCY: OrgId = OrgId::from_u128(2);

    fn insight(text: &str) -> Result<Insight, MissingField> {
        Insight::new(BELLA, AGENCY, text, InsightCategory::Suggestion, None)
    }

    /// L28: the text is required, the category is one of four, evidence may be missing.
    #[test]
    fn l28_an_insight_has_a_text_and_a_category() {
        assert_eq!(insight("  "), Err(MissingField("insight")));
        assert_eq!(insight("more vegan").unwrap().evidence, None);
        for name in ["customer_trend", "product_feedback", "performance", "suggestion"] {
            assert!(name.parse::<InsightCategory>().is_ok(), "{name}");
        }
        assert_eq!(
            "gossip".parse::<InsightCategory>(),
            Err(InvalidInsightCategory("gossip".into()))
        );
    }

    /// L29: the parent's PM acknowledges, once; nobody else can.
    #[test]
    fn l29_only_the_parents_pm_acknowledges_an_insight_once() {
        let pm = |org| Decider::Agent { agent: AgentId::from_u128(9), org, subtype: Subtype::Pm };
        let mut insight = insight("more vegan").unwrap();
        let refused = insight.acknowledge(&pm(BELLA), Timestamp::from_millis(1));
        assert_eq!(refused, Err(DecisionRefused::OtherOrg));
        assert_eq!(insight.acknowledged_at, None);
        for millis in [2, 3] {
            assert_eq!(insight.acknowledge(&pm(AGENCY), Timestamp::from_millis(millis)), Ok(()));
        }
        assert_eq!(insight.acknowledged_at, Some(Timestamp::from_millis(2)));
    }
}
