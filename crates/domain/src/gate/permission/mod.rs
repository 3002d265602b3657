//! Permissions of an interactive harness: an ordered chain of rules, of which the
//! first that applies decides.
//!
//! Yolo, then the rules for tools, tools granted in this session, categories granted in this
//! session, the rules for categories, and otherwise a question. On the rungs of tools and of
//! categories, ordered rules ([`rule`]) come first, then the policies that a program has set.

pub mod arguments;
mod command;
pub mod rule;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Timestamp;
use crate::tool::{ToolCategory, ToolName};
use rule::{MatchedRule, PlacedRule, RungDecision, decide_rung, narrow};

/// The policy that a permission rule sets, from lax to strict.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PermissionPolicy {
    Allow,
    Ask,
    Deny,
}

/// Stored permission rules.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionRules {
    pub tools: BTreeMap<ToolName, PermissionPolicy>,
    pub categories: BTreeMap<ToolCategory, PermissionPolicy>,
}

/// Grants of the user for this session. They are never stored, so they have no
/// serialized form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionGrants {
    pub tools: BTreeSet<ToolName>,
    pub categories: BTreeSet<ToolCategory>,
}

/// A call that permissions decide on.
#[derive(Debug, Clone, Copy)]
pub struct PermissionQuery<'a> {
    pub tool: &'a ToolName,
    pub category: ToolCategory,
    pub arguments: &'a Value,
}

/// The user's permissions at this moment.
pub trait Permissions: fmt::Debug + Send + Sync {
    /// Returns the policy for a call and the rule it comes from.
    fn resolve(&self, query: PermissionQuery<'_>) -> (PermissionPolicy, PermissionSource);
}

/// The permissions of a user with ordered rules.
#[derive(Debug, Clone, Copy)]
pub struct OrderedPermissions<'a> {
    pub facts: PermissionFacts<'a>,
    /// In the order in which they are asked.
    pub rules: &'a [PlacedRule],
    pub now: Timestamp,
}

/// Permissions that do not look at arguments.
#[derive(Debug, Clone, Copy)]
pub struct PermissionFacts<'a> {
    /// Whether the user has switched all questions off.
    pub yolo: bool,
    pub rules: &'a PermissionRules,
    pub grants: &'a SessionGrants,
}

/// The rule of the chain that decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionSource {
    /// The user has switched all questions off.
    #[serde(rename = "questions_off", alias = "yolo")]
    Yolo,
    /// An ordered rule for tools.
    ToolRule(Box<MatchedRule>),
    /// A stored rule for the tool.
    ToolPolicy,
    /// The tool was granted in this session.
    ToolGrant,
    /// The category was granted in this session.
    CategoryGrant,
    /// An ordered rule for categories.
    CategoryRule(Box<MatchedRule>),
    /// A stored rule for the category.
    CategoryPolicy,
    /// No rule applies.
    Default,
}

impl Permissions for PermissionFacts<'_> {
    fn resolve(&self, query: PermissionQuery<'_>) -> (PermissionPolicy, PermissionSource) {
        let now = Timestamp::from_millis(0);
        OrderedPermissions { facts: *self, rules: &[], now }.resolve(query)
    }
}

impl Permissions for OrderedPermissions<'_> {
    fn resolve(&self, query: PermissionQuery<'_>) -> (PermissionPolicy, PermissionSource) {
        let PermissionFacts { yolo, rules, grants } = self.facts;
        if yolo {
            return (PermissionPolicy::Allow, PermissionSource::Yolo);
        }
        let RungDecision { first, floor } = decide_rung(self.rules, true, query, self.now);
        let decision = if let Some((policy, rule)) = first {
            (policy, PermissionSource::ToolRule(rule))
        } else if let Some(&policy) = rules.tools.get(query.tool) {
            (policy, PermissionSource::ToolPolicy)
        } else if grants.tools.contains(query.tool) {
            (PermissionPolicy::Allow, PermissionSource::ToolGrant)
        } else if grants.categories.contains(&query.category) {
            (PermissionPolicy::Allow, PermissionSource::CategoryGrant)
        } else {
            self.resolve_category(query)
        };
        narrow(decision, floor, PermissionSource::ToolRule)
    }
}

impl OrderedPermissions<'_> {
    fn resolve_category(&self, query: PermissionQuery<'_>) -> (PermissionPolicy, PermissionSource) {
        let RungDecision { first, floor } = decide_rung(self.rules, false, query, self.now);
        let decision = if let Some((policy, rule)) = first {
            (policy, PermissionSource::CategoryRule(rule))
        } else if let Some(&policy) = self.facts.rules.categories.get(&query.category) {
            (policy, PermissionSource::CategoryPolicy)
        } else {
            (PermissionPolicy::Ask, PermissionSource::Default)
        };
        narrow(decision, floor, PermissionSource::CategoryRule)
    }
}

impl PermissionSource {
    /// Returns the ordered rule that decided.
    pub fn rule(&self) -> Option<&MatchedRule> {
        match self {
            Self::ToolRule(rule) | Self::CategoryRule(rule) => Some(rule),
            _ => None,
        }
    }

    /// Returns the place in the chain: 1 yolo, 2 rules for tools, 3 granted tools, 4 granted
    /// categories, 5 rules for categories, 6 no rule.
    pub const fn rung(&self) -> u8 {
        match self {
            Self::Yolo => 1,
            Self::ToolRule(_) | Self::ToolPolicy => 2,
            Self::ToolGrant => 3,
            Self::CategoryGrant => 4,
            Self::CategoryRule(_) | Self::CategoryPolicy => 5,
            Self::Default => 6,
        }
    }
}

impl PermissionPolicy {
    /// Returns the name: `allow`, `ask` or `deny`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The user's answer to a request for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    Approve,
    Decline,
    /// Run it, and stop asking for its category in this session.
    AlwaysAllowCategory,
}

impl SessionGrants {
    /// Applies an answer and returns whether the pending call runs.
    pub fn apply_answer(&mut self, answer: ApprovalAnswer, category: ToolCategory) -> bool {
        match answer {
            ApprovalAnswer::Approve => true,
            ApprovalAnswer::Decline => false,
            ApprovalAnswer::AlwaysAllowCategory => {
                self.categories.insert(category);
                true
            }
        }
    }
}

impl fmt::Display for PermissionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ToolRule(rule) | Self::CategoryRule(rule) => return rule.fmt(f),
            Self::Yolo => "asking is off",
            Self::ToolPolicy => "rule of the tool",
            Self::ToolGrant => "tool granted in this session",
            Self::CategoryGrant => "category granted in this session",
            Self::CategoryPolicy => "rule of the category",
            Self::Default => "no rule, so it asks",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ApprovalAnswer, PermissionFacts, PermissionPolicy, PermissionQuery, PermissionRules,
        PermissionSource, Permissions as _, SessionGrants,
    };
    use crate::tool::{ToolCategory, ToolName};
    use PermissionPolicy::{Allow, Ask, Deny};

    static EDIT: ToolName = ToolName::from_static("edit_file");

    fn query(category: ToolCategory) -> PermissionQuery<'static> {
        PermissionQuery { tool: &EDIT, category, arguments: &serde_json::Value::Null }
    }

    /// M10, M11: each rule of the chain overrides all that come after it.
    #[test]
    fn m11_each_rule_overrides_the_next() {
        // Each rule decides differently from the one after it.
        for top in 0..6 {
            let mut rules = PermissionRules::default();
            let mut grants = SessionGrants::default();
            if top <= 1 {
                rules.tools.insert(EDIT.clone(), Deny);
            }
            if top <= 2 {
                grants.tools.insert(EDIT.clone());
            }
            if top <= 3 {
                grants.categories.insert(ToolCategory::Edit);
            }
            if top <= 4 {
                rules.categories.insert(ToolCategory::Edit, Deny);
            }
            let facts = PermissionFacts { yolo: top == 0, rules: &rules, grants: &grants };
            let expected = [
                (Allow, PermissionSource::Yolo),
                (Deny, PermissionSource::ToolPolicy),
                (Allow, PermissionSource::ToolGrant),
                (Allow, PermissionSource::CategoryGrant),
                (Deny, PermissionSource::CategoryPolicy),
                (Ask, PermissionSource::Default),
            ][top]
                .clone();
            assert_eq!(facts.resolve(query(ToolCategory::Edit)), expected);
        }
    }

    /// M10: five categories and three policies have their serialized names.
    #[test]
    fn m10_categories_and_policies_have_their_names() {
        let categories = [
            ToolCategory::Read,
            ToolCategory::Edit,
            ToolCategory::Execute,
            ToolCategory::Mcp,
            ToolCategory::Other,
        ];
        let json = |value: serde_json::Value| value.to_string();
        assert_eq!(
            json(serde_json::to_value(categories).unwrap()),
            r#"["read","edit","execute","mcp","other"]"#
        );
        assert_eq!(
            json(serde_json::to_value([Allow, Ask, Deny]).unwrap()),
            r#"["allow","ask","deny"]"#
        );
    }

    /// M13: the three answers; the third grants the category.
    #[test]
    fn m13_always_allow_runs_the_call_and_grants_the_category() {
        let mut grants = SessionGrants::default();
        assert!(grants.apply_answer(ApprovalAnswer::Approve, ToolCategory::Edit));
        assert!(!grants.apply_answer(ApprovalAnswer::Decline, ToolCategory::Edit));
        assert_eq!(grants, SessionGrants::default());
        assert!(grants.apply_answer(ApprovalAnswer::AlwaysAllowCategory, ToolCategory::Edit));
        let rules = PermissionRules::default();
        let facts = PermissionFacts { yolo: false, rules: &rules, grants: &grants };
        assert_eq!(
            facts.resolve(query(ToolCategory::Edit)),
            (Allow, PermissionSource::CategoryGrant)
        );
        assert_eq!(facts.resolve(query(ToolCategory::Execute)), (Ask, PermissionSource::Default));
    }
}
