//! The souls of agents: their versions, restoring one, and the prompt that results.

use ostler_domain::agent::protection::{AgentChange, AgentChangeRefused, Editor, check_change};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::prompt::{PromptFacts, system_prompt};
use ostler_domain::soul::{Soul, SoulHistory, SoulVersion, soul_owner};
use serde_json::json;

use super::{Actor, OperationError, OrgOperations, Result};

impl OrgOperations<'_> {
    /// Returns every version of an agent's soul, from 1. An agent may be named by id, slug
    /// or subtype.
    pub async fn soul_versions(&self, agent: &str) -> Result<Vec<SoulVersion>> {
        let store = self.authorize(OrgPermission::View).await?;
        let view = self.view().await?;
        let agent =
            view.find_agent(agent).ok_or_else(|| OperationError::NoAgent(agent.to_owned()))?;
        Ok(store.soul_versions(soul_owner(&agent.agent)).await?)
    }

    /// Restores an earlier version of an agent's soul as a new version and returns it.
    pub async fn roll_back_soul(&self, agent: &str, to: u32) -> Result<SoulVersion> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let view = self.view().await?;
        let found =
            view.find_agent(agent).ok_or_else(|| OperationError::NoAgent(agent.to_owned()))?;
        check_change(&found.agent, self.editor().await?, AgentChange::Soul)?;
        let owner = soul_owner(&found.agent);
        let history = SoulHistory::from_versions(store.soul_versions(owner).await?);
        let mut history = history.ok_or(OperationError::NoSoul)?;
        let before = history.current().clone();
        let restored = history.rollback(to, self.inner().clock.now())?.clone();
        let audit = self.audit_change(
            "roll_back_soul",
            &owner,
            &json!({"version": before.version, "soul": before.soul}),
            &json!({"version": restored.version, "restored": to, "soul": restored.soul}),
        );
        store.audited(audit).push_soul(owner, restored.clone()).await?;
        Ok(restored)
    }

    /// Returns the system prompt of an agent in a new conversation, with another soul if
    /// one is given. Documents are left out: they depend on the conversation.
    pub async fn preview_prompt(&self, agent: &str, soul: Option<&Soul>) -> Result<String> {
        self.authorize(OrgPermission::View).await?;
        let view = self.view().await?;
        let found =
            view.find_agent(agent).ok_or_else(|| OperationError::NoAgent(agent.to_owned()))?;
        let colleagues = view.colleagues(found.agent.id);
        Ok(system_prompt(&PromptFacts {
            agent: &found.agent,
            position: &found.position,
            org: &view.org,
            parent: view.parent.as_ref(),
            colleagues: &colleagues,
            soul: soul.unwrap_or(&found.soul),
            documents: &[],
            team: None,
            instructions: &[],
            waiting: &[],
            notices: &[],
            unavailable: &[],
            resolution: None,
            previous_summary: None,
            can_escalate: true,
            testing: false,
        }))
    }

    /// Returns what the actor is to an agent of this org that it changes.
    pub(super) async fn editor(&self) -> Result<Editor<'static>> {
        let store = &self.inner().store;
        if let Actor::Agent { .. } = self.actor {
            return Err(AgentChangeRefused::ProposeInstead.into());
        }
        let orgs = store.orgs().await?;
        let platform = orgs.iter().find(|org| org.place == OrgPlace::Platform);
        let is_platform_admin = match platform {
            Some(platform) => {
                let right = OrgPermission::GrantCredits;
                self.actor.authorize(store, platform.id, right).await.is_ok()
            }
            None => self.actor == Actor::Terminal,
        };
        Ok(if is_platform_admin { Editor::PlatformAdmin } else { Editor::OrgAdmin(self.org) })
    }
}
