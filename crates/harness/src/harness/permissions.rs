//! Permission rules and grants.

use ostler_domain::gate::permission::{PermissionPolicy, PermissionRules, SessionGrants};
use ostler_domain::tool::{ToolCategory, ToolName};

use super::Harness;
use crate::always::RuleProposal;
use crate::error::HarnessError;

/// The setting that keeps the permission rules.
pub(super) const PERMISSION_RULES: &str = "permissionRules";

impl<S> Harness<S> {
    /// Returns the stored rules.
    pub fn permission_rules(&self) -> PermissionRules {
        self.core.permissions.read().rules.clone()
    }

    /// Stores other rules. They hold at once and in later sessions.
    pub async fn set_permission_rules(&self, rules: PermissionRules) -> Result<(), HarnessError> {
        self.run_detached(|harness| async move {
            let text = crate::session::json(&rules);
            harness.core.save_setting(PERMISSION_RULES, text).await?;
            harness.core.permissions.write().rules = rules;
            Ok(())
        })
        .await
    }

    /// Stores a rule for a tool; `None` removes it.
    pub async fn set_tool_policy(
        &self,
        tool: ToolName,
        policy: Option<PermissionPolicy>,
    ) -> Result<(), HarnessError> {
        let mut rules = self.permission_rules();
        match policy {
            Some(policy) => rules.tools.insert(tool, policy),
            None => rules.tools.remove(&tool),
        };
        self.set_permission_rules(rules).await
    }

    /// Stores a rule for a category; `None` removes it.
    pub async fn set_category_policy(
        &self,
        category: ToolCategory,
        policy: Option<PermissionPolicy>,
    ) -> Result<(), HarnessError> {
        let mut rules = self.permission_rules();
        match policy {
            Some(policy) => rules.categories.insert(category, policy),
            None => rules.categories.remove(&category),
        };
        self.set_permission_rules(rules).await
    }

    /// Returns the rule that [`ApprovalResponse::AlwaysAllow`] would write for a question.
    /// `None` if the question is not open, or if no rule can answer it.
    ///
    /// [`ApprovalResponse::AlwaysAllow`]: crate::ApprovalResponse::AlwaysAllow
    pub async fn rule_proposal(&self, tool_call_id: &str) -> Option<RuleProposal> {
        self.core.rule_proposal(tool_call_id).await
    }

    /// Allows a tool until the harness ends. Never stored.
    pub fn grant_session_tool(&self, tool: ToolName) {
        self.core.permissions.write().grants.tools.insert(tool);
    }

    /// Allows a category until the harness ends. Never stored.
    pub fn grant_session_category(&self, category: ToolCategory) {
        self.core.permissions.write().grants.categories.insert(category);
    }

    /// Returns what was allowed until the harness ends.
    pub fn session_grants(&self) -> SessionGrants {
        self.core.permissions.read().grants.clone()
    }
}
