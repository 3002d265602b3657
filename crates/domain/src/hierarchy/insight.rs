//! A learning shared with the agency by `share_insight_upward`. It is stored
//! for the parent's PM to read and pushed to nobody.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Decider, Missing, NotTheDecider, check_decider, required};
use crate::id::OrgId;
use crate::time::Timestamp;

/// What an insight is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsightCategory {
    /// What customers do.
    CustomerTrend,
    /// What they say about products.
    ProductFeedback,
    /// How well things work.
    Performance,
    /// What could be better.
    Suggestion,
}

/// The text is not a category.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of customer_trend, product_feedback, performance, suggestion")]
pub struct BadCategory(String);

impl FromStr for InsightCategory {
    type Err = BadCategory;

    fn from_str(text: &str) -> Result<Self, BadCategory> {
        match text {
            "customer_trend" => Ok(Self::CustomerTrend),
            "product_feedback" => Ok(Self::ProductFeedback),
            "performance" => Ok(Self::Performance),
            "suggestion" => Ok(Self::Suggestion),
            _ => Err(BadCategory(text.to_owned())),
        }
    }
}

/// An insight, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insight {
    /// Who shared it.
    pub source: OrgId,
    /// The agency it is for.
    pub target: OrgId,
    /// The learning.
    pub insight: String,
    /// What it is about.
    pub category: InsightCategory,
    /// What supports it.
    pub evidence: Option<String>,
    /// When the parent's PM took note.
    pub acknowledged_at: Option<Timestamp>,
}

impl Insight {
    /// A new insight; its text is required.
    pub fn new(
        source: OrgId,
        target: OrgId,
        insight: &str,
        category: InsightCategory,
        evidence: Option<String>,
    ) -> Result<Self, Missing> {
        let insight = required("insight", insight)?;
        Ok(Self { source, target, insight, category, evidence, acknowledged_at: None })
    }

    /// The parent's PM, or a person of the parent, takes note; the first time
    /// counts.
    pub fn acknowledge(&mut self, by: &Decider, now: Timestamp) -> Result<(), NotTheDecider> {
        check_decider(by, self.target)?;
        self.acknowledged_at.get_or_insert(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BadCategory, Insight, InsightCategory};
    use crate::agent::subtype::Subtype;
    use crate::hierarchy::{Decider, Missing, NotTheDecider};
    use crate::id::{AgentId, OrgId};
    use crate::time::Timestamp;

    const BELLA: OrgId = OrgId::from_u128(3);
    const AGENCY: OrgId = OrgId::from_u128(2);

    fn insight(text: &str) -> Result<Insight, Missing> {
        Insight::new(BELLA, AGENCY, text, InsightCategory::Suggestion, None)
    }

    /// L28: the text is required, the category is one of four, evidence may be missing.
    #[test]
    fn l28_an_insight_has_a_text_and_a_category() {
        assert_eq!(insight("  "), Err(Missing("insight")));
        assert_eq!(insight("more vegan").unwrap().evidence, None);
        for name in ["customer_trend", "product_feedback", "performance", "suggestion"] {
            assert!(name.parse::<InsightCategory>().is_ok(), "{name}");
        }
        assert_eq!("gossip".parse::<InsightCategory>(), Err(BadCategory("gossip".into())));
    }

    /// L29: the parent's PM acknowledges, once; nobody else can.
    #[test]
    fn l29_the_parent_acknowledges() {
        let pm = |org| Decider::Agent { agent: AgentId::from_u128(9), org, subtype: Subtype::Pm };
        let mut one = insight("more vegan").unwrap();
        let refused = one.acknowledge(&pm(BELLA), Timestamp::from_millis(1));
        assert_eq!(refused, Err(NotTheDecider::OtherOrg));
        assert_eq!(one.acknowledged_at, None);
        for millis in [2, 3] {
            assert_eq!(one.acknowledge(&pm(AGENCY), Timestamp::from_millis(millis)), Ok(()));
        }
        assert_eq!(one.acknowledged_at, Some(Timestamp::from_millis(2)));
    }
}
