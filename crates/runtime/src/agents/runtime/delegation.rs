//! Delegations: gives work to agents, tracks it, and gives out work that
//! becomes ready.

use std::collections::BTreeSet;

use ostler_bus::{Envelope, next_id, now};
use ostler_domain::id::{DelegationId, EnvelopeId};
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::team_lifecycle::TeamStatus;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::Timestamp;

use super::AgentRuntime;
use crate::agents::coordination::{CoordinationMessage, TaskAssigned, TaskCompleted};
use crate::agents::delegations::DelegatedWork;
use crate::agents::error::Result;
use crate::agents::page::Page;

/// Work to be given to an agent.
#[derive(Debug, Clone)]
pub struct TaskAssignment {
    pub by: AgentName,
    pub to: AgentName,
    pub description: String,
    pub due: Option<Timestamp>,
    /// Work that must be finished first.
    pub blocked_by: BTreeSet<DelegationId>,
    /// The code of the request that the work belongs to.
    pub root: Option<ReferenceCode>,
}

impl TaskAssignment {
    /// Creates an assignment without a deadline or dependencies.
    pub fn new(by: AgentName, to: AgentName, description: impl Into<String>) -> Self {
        let (due, blocked_by, root) = (None, BTreeSet::new(), None);
        Self { by, to, description: description.into(), due, blocked_by, root }
    }

    /// Makes the work part of a request.
    #[must_use]
    pub fn part_of(mut self, request: &Envelope) -> Self {
        self.root = Some(request.context.root_reference.unwrap_or(request.reference));
        self
    }
}

impl AgentRuntime {
    /// Gives work to an agent under a new reference code. The agent is told as
    /// soon as the work is not blocked.
    pub async fn delegate(&self, assignment: TaskAssignment) -> Result<Delegation> {
        let work = Delegation {
            id: DelegationId::from_u128(next_id().as_u128()),
            reference: self.new_reference_code().await?,
            root: assignment.root,
            delegated_by: assignment.by,
            assignee: assignment.to,
            description: assignment.description,
            due: assignment.due,
            status: DelegationStatus::Assigned,
            blocked_by: assignment.blocked_by,
        };
        self.0.delegations.delegate(work.clone()).await?;
        self.assign_if_ready(&work).await?;
        Ok(work)
    }

    /// Sends a stored delegation to its assignee unless it is blocked. Returns whether it
    /// was sent.
    pub(crate) async fn assign_if_ready(&self, work: &Delegation) -> Result<bool> {
        let ready = self.is_ready(work).await?;
        if ready {
            self.assign(work.clone()).await?;
        }
        Ok(ready)
    }

    async fn is_ready(&self, work: &Delegation) -> Result<bool> {
        for blocker in &work.blocked_by {
            let blocker = self.0.delegations.get(*blocker).await?;
            if blocker.is_some_and(|blocker| blocker.status != DelegationStatus::Complete) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends the work to its assignee. The message id is derived from the work,
    /// so that sending again is a repeat.
    pub(super) async fn assign(&self, work: Delegation) -> Result<()> {
        let assignee = work.assignee.clone();
        let (id, reference, root) = (work.id, work.reference, work.root);
        let (by, due) = (work.delegated_by.clone(), work.due);
        let mut envelope = TaskAssigned { work }.envelope(reference);
        envelope.message.id = EnvelopeId::from_u128(id.as_u128());
        envelope.context.from_agent = Some(by);
        envelope.context.root_reference = root;
        envelope.sla_deadline = due;
        self.send(&assignee, envelope).await
    }

    /// Changes the status of a delegation. When it is complete, the assignee's
    /// teams are informed, and work that becomes ready is sent to its assignees
    /// and returned.
    pub async fn update_delegation(
        &self,
        id: DelegationId,
        to: DelegationStatus,
    ) -> Result<Vec<Delegation>> {
        let runtime = self.clone();
        Self::run_to_completion(async move {
            let ready = runtime.0.delegations.update(id, to, now()).await?;
            runtime.announce_update(id, to, &ready).await?;
            Ok(ready)
        })
        .await
    }

    /// Sends the work that a stored update made ready, and informs the assignee's teams when
    /// the delegation is complete.
    pub(crate) async fn announce_update(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        ready: &[Delegation],
    ) -> Result<()> {
        for work in ready {
            self.assign(work.clone()).await?;
        }
        if to == DelegationStatus::Complete {
            self.notify_teams(id, ready).await?;
        }
        Ok(())
    }

    async fn notify_teams(&self, id: DelegationId, ready: &[Delegation]) -> Result<()> {
        let Some(work) = self.0.delegations.get(id).await? else { return Ok(()) };
        let ready: Vec<DelegationId> = ready.iter().map(|work| work.id).collect();
        let teams = self.0.teams.of_member(&work.assignee, Page::default()).await?;
        for team in teams.iter().filter(|team| team.status() == TeamStatus::Active) {
            let by = work.assignee.clone();
            let done = TaskCompleted { work: id, by: by.clone(), ready: ready.clone() };
            let mut envelope = done.envelope(work.reference);
            envelope.context.from_agent = Some(by);
            self.broadcast(&team.name, envelope).await?;
        }
        Ok(())
    }

    /// Returns delegations that wait for unfinished work.
    pub async fn blocked_delegations(&self, page: Page<DelegationId>) -> Result<Vec<Delegation>> {
        self.0.delegations.list(DelegatedWork::Blocked, page).await
    }
}
