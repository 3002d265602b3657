//! Changes of queue agents by people, each together with its audit entry.

use ostler_domain::id::{DelegationId, EnvelopeId};
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamChange, TeamLifecycleEffect};
use ostler_domain::time::Timestamp;

use super::agents::{self, StoredQueueAgent};
use super::held::{self, HeldMessage, HeldMessageKind};
use super::{delegations, teams};
use crate::AuditedWrite;
use crate::backend::job::StoreFuture;
use crate::error::StoreError;

impl AuditedWrite<'_> {
    /// Registers or replaces a queue agent; see [`OrgStore::save_queue_agent`].
    ///
    /// [`OrgStore::save_queue_agent`]: crate::OrgStore::save_queue_agent
    pub fn save_queue_agent(self, agent: StoredQueueAgent) -> StoreFuture<()> {
        self.run(move |tx, org| agents::save_agent(tx, org, &agent))
    }

    /// Marks a queue agent as unavailable. Fails if it does not exist.
    pub fn withdraw_queue_agent(self, name: AgentName) -> StoreFuture<()> {
        self.run(move |tx, org| match agents::withdraw(tx, org, &name)? {
            true => Ok(()),
            false => Err(StoreError::NotFound("queue agent")),
        })
    }

    /// Deletes a queue agent. Fails if it does not exist.
    pub fn delete_queue_agent(self, name: AgentName) -> StoreFuture<()> {
        self.run(move |tx, org| match agents::delete(tx, org, &name)? {
            true => Ok(()),
            false => Err(StoreError::NotFound("queue agent")),
        })
    }

    /// Stores a new team; see [`OrgStore::create_team`].
    ///
    /// [`OrgStore::create_team`]: crate::OrgStore::create_team
    pub fn create_team(self, team: Team) -> StoreFuture<()> {
        self.run(move |tx, org| teams::create_team(tx, org, &team))
    }

    /// Applies a change to a team and returns its effect.
    pub fn change_team(
        self,
        name: TeamName,
        change: TeamChange,
    ) -> StoreFuture<Option<TeamLifecycleEffect>> {
        self.run(move |tx, org| teams::change_team(tx, org, &name, &change))
    }

    /// Stores a new delegation. Its blockers must exist.
    pub fn create_delegation(self, delegation: Delegation) -> StoreFuture<()> {
        self.run(move |tx, org| delegations::create_delegation(tx, org, &delegation))
    }

    /// Changes the status of a delegation and returns those that became ready by it.
    pub fn update_delegation(
        self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> StoreFuture<Vec<Delegation>> {
        self.run(move |tx, org| delegations::update_delegation(tx, org, id, to, now))
    }

    /// Removes and returns a held message. Fails if it is not held.
    pub fn take_held_message(
        self,
        kind: HeldMessageKind,
        agent: &AgentName,
        message: EnvelopeId,
    ) -> StoreFuture<HeldMessage> {
        let key = held::key(kind, agent, message);
        self.run(move |tx, org| {
            held::take(tx, org, &key)?.ok_or(StoreError::NotFound("held message"))
        })
    }

    /// Replaces a held message that is still at the version of `changed`. Fails with
    /// [`StoreError::Busy`] if it has changed since.
    pub fn update_held_message(
        self,
        kind: HeldMessageKind,
        agent: AgentName,
        changed: HeldMessage,
    ) -> StoreFuture<()> {
        self.run(move |tx, org| match held::update(tx, org, kind, &agent, &changed)? {
            true => Ok(()),
            false => Err(StoreError::Busy),
        })
    }
}
