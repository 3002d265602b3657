//! Permissions of an interactive harness: a chain of rules, the first answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::tool::{Category, ToolName};

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionPolicy {
    /// Run.
    Allow,
    /// Ask the user.
    Ask,
    /// Refuse.
    Deny,
}

/// Rules that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionRules {
    /// Per tool.
    pub tools: BTreeMap<ToolName, PermissionPolicy>,
    /// Per category.
    pub categories: BTreeMap<Category, PermissionPolicy>,
}

/// What the user granted in this session. Never stored: it ends with the
/// session, so it has no serial form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionGrants {
    /// Tools.
    pub tools: BTreeSet<ToolName>,
    /// Categories.
    pub categories: BTreeSet<Category>,
}

/// All that the chain looks at.
#[derive(Debug, Clone, Copy)]
pub struct PermissionFacts<'a> {
    /// Whether the user switched asking off.
    pub yolo: bool,
    /// The rules.
    pub rules: &'a PermissionRules,
    /// The grants.
    pub grants: &'a SessionGrants,
}

/// Which link of the chain answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// The user switched asking off.
    Yolo,
    /// The rule of the tool.
    ToolPolicy,
    /// The tool was granted in this session.
    ToolGrant,
    /// The category was granted in this session.
    CategoryGrant,
    /// The rule of the category.
    CategoryPolicy,
    /// Nobody said anything.
    Default,
}

impl PermissionFacts<'_> {
    /// The policy for a tool, and the link of the chain it comes from.
    pub fn resolve(&self, tool: &ToolName, category: Category) -> (PermissionPolicy, Rung) {
        if self.yolo {
            (PermissionPolicy::Allow, Rung::Yolo)
        } else if let Some(&policy) = self.rules.tools.get(tool) {
            (policy, Rung::ToolPolicy)
        } else if self.grants.tools.contains(tool) {
            (PermissionPolicy::Allow, Rung::ToolGrant)
        } else if self.grants.categories.contains(&category) {
            (PermissionPolicy::Allow, Rung::CategoryGrant)
        } else if let Some(&policy) = self.rules.categories.get(&category) {
            (policy, Rung::CategoryPolicy)
        } else {
            (PermissionPolicy::Ask, Rung::Default)
        }
    }
}

/// The user's answer to a question of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    /// Run this call.
    Approve,
    /// Do not run it.
    Decline,
    /// Run it, and do not ask for its category again in this session.
    AlwaysAllowCategory,
}

impl SessionGrants {
    /// Takes an answer and says whether the pending call runs.
    pub fn answer(&mut self, answer: ApprovalAnswer, category: Category) -> bool {
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

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
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
        ApprovalAnswer, PermissionFacts, PermissionPolicy, PermissionRules, Rung, SessionGrants,
    };
    use crate::tool::{Category, ToolName};
    use PermissionPolicy::{Allow, Ask, Deny};

    const EDIT: ToolName = ToolName::from_static("edit_file");

    /// M10, M11: each rung of the chain beats all that come after it.
    #[test]
    fn m11_each_rung_beats_the_next() {
        // Each rung says something else than the one after it would.
        for top in 0..6 {
            let mut rules = PermissionRules::default();
            let mut grants = SessionGrants::default();
            if top <= 1 {
                rules.tools.insert(EDIT, Deny);
            }
            if top <= 2 {
                grants.tools.insert(EDIT);
            }
            if top <= 3 {
                grants.categories.insert(Category::Edit);
            }
            if top <= 4 {
                rules.categories.insert(Category::Edit, Deny);
            }
            let facts = PermissionFacts { yolo: top == 0, rules: &rules, grants: &grants };
            let expected = [
                (Allow, Rung::Yolo),
                (Deny, Rung::ToolPolicy),
                (Allow, Rung::ToolGrant),
                (Allow, Rung::CategoryGrant),
                (Deny, Rung::CategoryPolicy),
                (Ask, Rung::Default),
            ][top];
            assert_eq!(facts.resolve(&EDIT, Category::Edit), expected);
        }
    }

    /// M10: five categories and three policies, each as it is written.
    #[test]
    fn m10_categories_and_policies_have_their_names() {
        let categories =
            [Category::Read, Category::Edit, Category::Execute, Category::Mcp, Category::Other];
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
        assert!(grants.answer(ApprovalAnswer::Approve, Category::Edit));
        assert!(!grants.answer(ApprovalAnswer::Decline, Category::Edit));
        assert_eq!(grants, SessionGrants::default());
        assert!(grants.answer(ApprovalAnswer::AlwaysAllowCategory, Category::Edit));
        let rules = PermissionRules::default();
        let facts = PermissionFacts { yolo: false, rules: &rules, grants: &grants };
        assert_eq!(facts.resolve(&EDIT, Category::Edit), (Allow, Rung::CategoryGrant));
        assert_eq!(facts.resolve(&EDIT, Category::Execute), (Ask, Rung::Default));
    }
}
