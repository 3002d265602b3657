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
            let _session = harness.core.session.lock().await;
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
        self.change_permission_rules(move |rules| {
            match policy {
                Some(policy) => rules.tools.insert(tool.clone(), policy),
                None => rules.tools.remove(&tool),
            };
        })
        .await
    }

    /// Stores a rule for a category; `None` removes it.
    pub async fn set_category_policy(
        &self,
        category: ToolCategory,
        policy: Option<PermissionPolicy>,
    ) -> Result<(), HarnessError> {
        self.change_permission_rules(move |rules| {
            match policy {
                Some(policy) => rules.categories.insert(category, policy),
                None => rules.categories.remove(&category),
            };
        })
        .await
    }

    /// Changes the rules as they are stored now, so that no change of another harness is
    /// lost.
    async fn change_permission_rules(
        &self,
        change: impl Fn(&mut PermissionRules) + Send + 'static,
    ) -> Result<(), HarnessError> {
        self.run_detached(|harness| async move {
            let core = &harness.core;
            // One change at a time, so that the newest rules are in force afterwards.
            let _session = core.session.lock().await;
            loop {
                let stored = core.setting(PERMISSION_RULES).await?;
                let known = stored.as_deref().and_then(|text| serde_json::from_str(text).ok());
                let mut rules = known.unwrap_or_else(|| core.permissions.read().rules.clone());
                change(&mut rules);
                let text = crate::session::json(&rules);
                let (org, resource) = (core.org(), &core.config.resource_id);
                if org.replace_harness_setting(resource, PERMISSION_RULES, stored, text).await? {
                    core.permissions.write().rules = rules;
                    return Ok(());
                }
            }
        })
        .await
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
