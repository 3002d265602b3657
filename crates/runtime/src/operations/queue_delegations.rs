//! Delegations to queue agents.

use std::collections::BTreeSet;

use ostler_bus::{next_id, now};
use ostler_domain::id::DelegationId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::time::Timestamp;
use serde_json::json;

use super::{OperationError, OrgOperations, Result};
use crate::agents::{AgentRuntime, QueueError};

/// Work to give to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelegation {
    pub by: AgentName,
    pub to: AgentName,
    pub description: String,
    pub due: Option<Timestamp>,
    /// Work that must be finished first.
    pub blocked_by: BTreeSet<DelegationId>,
}

impl OrgOperations<'_> {
    /// Gives work to a registered agent in the name of another. It is told as soon as the work is not blocked.
    /// Returns the delegation and whether it was sent.
    pub async fn delegate(
        &self,
        agents: &AgentRuntime,
        new: NewDelegation,
    ) -> Result<(Delegation, bool)> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let NewDelegation { by, to, description, due, blocked_by } = new;
        if description.trim().is_empty() {
            return Err(OperationError::Empty("a description"));
        }
        agents.registered(&by).await?;
        agents.registered(&to).await?;
        let work = Delegation {
            id: DelegationId::from_u128(next_id().as_u128()),
            reference: agents.new_reference_code().await?,
            root: None,
            delegated_by: by,
            assignee: to,
            description,
            due,
            status: DelegationStatus::Assigned,
            blocked_by,
        };
        let audit = self.audit_entry(
            "delegate",
            &work.id,
            &json!({"to": work.assignee,
            "by": work.delegated_by, "description": work.description}),
        );
        let created = store.audited(audit).create_delegation(work.clone()).await;
        created.map_err(QueueError::from)?;
        let sent = agents.assign_if_ready(&work).await?;
        Ok((work, sent))
    }

    /// Changes the status of a delegation, and returns the work that became ready by it.
    pub async fn update_delegation(
        &self,
        agents: &AgentRuntime,
        id: DelegationId,
        to: DelegationStatus,
    ) -> Result<Vec<Delegation>> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let audit = self.audit_entry("update_delegation", &id, &json!({"status": to}));
        let updated = store.audited(audit).update_delegation(id, to, now()).await;
        let ready = updated.map_err(QueueError::from)?;
        agents.announce_update(id, to, &ready).await?;
        Ok(ready)
    }
}
