//! Delegations: work is given, goes on, and what waited for it is given next.

use std::collections::BTreeSet;

use ostler_bus::{Envelope, next_id, now};
use ostler_domain::dispatch::delegation::{Delegation, DelegationStatus};
use ostler_domain::dispatch::life::TeamStatus;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::{DelegationId, EnvelopeId};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::Timestamp;

use super::AgentRuntime;
use crate::queue::coordination::{Assigned, Coordination, TaskCompleted};
use crate::queue::delegations::Work;
use crate::queue::error::Result;
use crate::queue::page::Page;

/// Work that is to be given to an agent.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Who gives it.
    pub by: AgentName,
    /// Who is to do it.
    pub to: AgentName,
    /// What is to be done.
    pub description: String,
    /// By when.
    pub due: Option<Timestamp>,
    /// What must be finished before.
    pub blocked_by: BTreeSet<DelegationId>,
    /// The code of the request that it comes from.
    pub root: Option<ReferenceCode>,
}

impl Assignment {
    /// Work without a deadline that waits for nothing.
    pub fn new(by: AgentName, to: AgentName, description: impl Into<String>) -> Self {
        let (due, blocked_by, root) = (None, BTreeSet::new(), None);
        Self { by, to, description: description.into(), due, blocked_by, root }
    }

    /// Says that it is a part of what a message asks for.
    #[must_use]
    pub fn part_of(mut self, request: &Envelope) -> Self {
        self.root = Some(request.context.root_reference.unwrap_or(request.reference));
        self
    }
}

impl AgentRuntime {
    /// Gives work to an agent under a code of its own. The agent hears of it as
    /// soon as it waits for nothing.
    pub async fn delegate(&self, assignment: Assignment) -> Result<Delegation> {
        let work = Delegation {
            id: DelegationId::from_u128(next_id().as_u128()),
            reference: self.new_code().await?,
            root: assignment.root,
            delegated_by: assignment.by,
            assignee: assignment.to,
            description: assignment.description,
            due: assignment.due,
            status: DelegationStatus::Assigned,
            blocked_by: assignment.blocked_by,
        };
        self.0.delegations.delegate(work.clone()).await?;
        if self.is_ready(&work).await? {
            self.assign(work.clone()).await?;
        }
        Ok(work)
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

    /// Tells an agent what it has to do. Telling it again is a repeat: the
    /// message has the same id.
    pub(super) async fn assign(&self, work: Delegation) -> Result<()> {
        let assignee = work.assignee.clone();
        let (id, reference, root) = (work.id, work.reference, work.root);
        let (by, due) = (work.delegated_by.clone(), work.due);
        let mut envelope = Assigned { work }.envelope(reference);
        envelope.message.id = EnvelopeId::from_u128(id.as_u128());
        envelope.context.from_agent = Some(by);
        envelope.context.root_reference = root;
        envelope.sla_deadline = due;
        self.send(&assignee, envelope).await
    }

    /// Changes where work stands. When it is finished, its assignee's teams hear
    /// of it, and the agents whose work became ready by it get that; this is
    /// returned.
    pub async fn progress(
        &self,
        id: DelegationId,
        to: DelegationStatus,
    ) -> Result<Vec<Delegation>> {
        let runtime = self.clone();
        Self::to_its_end(async move {
            let ready = runtime.0.delegations.update(id, to, now()).await?;
            for work in &ready {
                runtime.assign(work.clone()).await?;
            }
            if to == DelegationStatus::Complete {
                runtime.tell_team(id, &ready).await?;
            }
            Ok(ready)
        })
        .await
    }

    async fn tell_team(&self, id: DelegationId, ready: &[Delegation]) -> Result<()> {
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

    /// What waits for something that is not finished.
    pub async fn blocked(&self, page: Page<DelegationId>) -> Result<Vec<Delegation>> {
        self.0.delegations.list(Work::Blocked, page).await
    }
}
