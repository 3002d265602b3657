//! Proposals to change a soul: people make them and decide on them.

use ostler_domain::agent::protection::{AgentChange, check_change};
use ostler_domain::id::ProposalId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::role::Role;
use ostler_domain::soul::proposal::{ProposalAuthor, ProposalRefused, guarded_fields};
use ostler_domain::soul::{Soul, SoulVersion};
use ostler_store::{DecisionState, StoredProposal};
use serde_json::json;

use super::{OperationError, OrgOperations, Result};
use crate::agent_changes::proposal::{describe_proposal, new_proposal, notice};

/// A proposal with the soul that it was made against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalDetail {
    pub stored: StoredProposal,
    pub before: Soul,
    /// The number of the current version of the soul.
    pub current_version: u32,
}

impl OrgOperations<'_> {
    /// Proposes another soul for an agent, on which an admin or an owner decides.
    pub async fn propose_soul(
        &self,
        agent: &str,
        soul: Soul,
        reason: &str,
    ) -> Result<StoredProposal> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(OperationError::Empty("the reason"));
        }
        let view = self.view().await?;
        let target =
            view.find_agent(agent).ok_or_else(|| OperationError::NoAgent(agent.to_owned()))?;
        check_change(&target.agent, self.editor().await?, AgentChange::Soul)?;
        if target.soul_version == 0 {
            return Err(ProposalRefused::NoSoul(target.agent.slug.clone()).into());
        }
        if target.soul == soul {
            return Err(ProposalRefused::NoChange.into());
        }
        let (base, now) = (target.soul_version, self.inner().clock.now());
        let proposal = new_proposal(&target.agent, base, soul, reason.to_owned(), now);
        let author = ProposalAuthor::Person(self.actor.user_id());
        let stored = StoredProposal { proposal, author };
        let data = describe_proposal(&stored, &target.soul);
        let audit = self.audit_entry("propose_soul", &target.agent.id, &json!(data));
        let notice = notice(&stored, &target.soul);
        store.audited(audit).create_proposal(stored.clone(), notice).await?;
        Ok(stored)
    }

    /// Returns the proposals in a state, oldest first.
    pub async fn soul_proposals(
        &self,
        state: DecisionState,
        limit: u32,
    ) -> Result<Vec<StoredProposal>> {
        Ok(self.authorize(OrgPermission::View).await?.proposals(state, None, limit).await?)
    }

    /// Returns a proposal with the soul that it was made against.
    pub async fn soul_proposal(&self, id: ProposalId) -> Result<ProposalDetail> {
        let store = self.authorize(OrgPermission::View).await?;
        let stored = store.proposal(id).await?;
        let versions = store.soul_versions(stored.proposal.target).await?;
        let base = versions.iter().find(|one| one.version == stored.proposal.base_version);
        let before = base.map(|one| one.soul.clone()).unwrap_or_default();
        let current_version = versions.last().map_or(0, |last| last.version);
        Ok(ProposalDetail { stored, before, current_version })
    }

    /// Approves a proposal and makes it the next version of the soul. Only an owner may
    /// approve one that changes what agents must never do or when they escalate.
    pub async fn approve_soul_proposal(&self, id: ProposalId) -> Result<SoulVersion> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let ProposalDetail { stored, before, .. } = self.soul_proposal(id).await?;
        let target = stored.proposal.target;
        let changed = before.changed_fields(&stored.proposal.soul);
        if !guarded_fields(&changed).is_empty() {
            self.require_owner("approve a change of never_do or escalation_triggers").await?;
        }
        let agent = store.agent(target).await?;
        check_change(&agent, self.editor().await?, AgentChange::Soul)?;
        let (base, after) = (stored.proposal.base_version, &stored.proposal.soul);
        let audit = self.audit_change(
            "approve_soul_proposal",
            &target,
            &json!({"version": base, "soul": before}),
            &json!({"version": base + 1, "proposal": id, "soul": after}),
        );
        store.audited(audit).approve_proposal(id, self.actor.user_id()).await?;
        let versions = store.soul_versions(target).await?;
        versions.into_iter().next_back().ok_or(OperationError::NoSoul)
    }

    /// Rejects a proposal. The agent that made it proposes nothing for a day.
    pub async fn reject_soul_proposal(
        &self,
        id: ProposalId,
        reason: &str,
    ) -> Result<StoredProposal> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(OperationError::Empty("the reason"));
        }
        let target = store.proposal(id).await?.proposal.target;
        let data = json!({"proposal": id, "reason": reason});
        let audit = self.audit_entry("reject_soul_proposal", &target, &data);
        Ok(store.audited(audit).reject_proposal(id, self.actor.user_id(), reason).await?)
    }

    pub(super) async fn require_owner(&self, what: &'static str) -> Result<()> {
        let role = self.actor.role_in(&self.inner().store, self.org).await?;
        if matches!(role, Role::Owner | Role::PlatformAdmin) {
            return Ok(());
        }
        let who = format!("the role {role}");
        Err(OperationError::Forbidden { who, what, holders: "an owner" })
    }
}
