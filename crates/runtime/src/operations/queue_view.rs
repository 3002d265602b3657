//! Looking at queue agents: records, teams, delegations, queues and dead letters; and putting
//! dead letters of the bus back.

use std::collections::BTreeSet;

use ostler_bus::{DeadLetter, DeadLetterFilter, QueueName, now};
use ostler_domain::id::{DelegationId, EnvelopeId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationRefused};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::selection::AgentSkill;
use ostler_domain::queue_agent::team_lifecycle::Team;
use ostler_domain::reference::ReferenceCode;
use serde_json::json;

use super::{OperationError, OrgOperations, Result};
use crate::agents::{
    AgentRecord, AgentRuntime, DelegatedWork, Delegations, MAX_PAGE_SIZE, Page, QueueError,
    QueueStatus, Registry, RuntimeStatus, StoredRecords, Teams,
};

/// The most teams, delegations and work items that are details of an agent.
const DETAILS: usize = 20;
/// The most agents whose queues are inspected.
const INSPECTED_AGENTS: usize = 100;
/// The most dead letters that are counted and listed.
const MAX_DEAD_LETTERS: usize = 1000;

/// An agent on queues with its teams and work.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueAgentView {
    pub record: AgentRecord,
    pub teams: Vec<TeamName>,
    /// Messages in its queue; `None` without a bus.
    pub waiting: Option<u64>,
    /// Messages on the work list of a human agent.
    pub on_its_list: usize,
    pub work: Vec<Delegation>,
}

/// A delegation, what it waits for and what it blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationView {
    pub work: Delegation,
    pub waits_for: Vec<Delegation>,
    pub blocks: Vec<Delegation>,
}

/// The queues of an org, and the health of its agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusStatus {
    pub status: RuntimeStatus,
    /// Whether other processes share the bus.
    pub is_shared: bool,
    pub away: Vec<AgentName>,
    /// Empty for a bus within the process.
    pub queues: Vec<QueueStatus>,
    /// At most 1000.
    pub dead_letters: usize,
}

impl OrgOperations<'_> {
    pub(super) fn queue_records(&self) -> StoredRecords {
        StoredRecords::new(self.inner().store.clone(), self.org)
    }

    /// Returns the agents on queues by name, or those with a capability: available ones first,
    /// then by load.
    pub async fn queue_agents(&self, capability: Option<&AgentSkill>) -> Result<Vec<AgentRecord>> {
        self.authorize(OrgPermission::View).await?;
        let records = self.queue_records();
        Ok(match capability {
            Some(skill) => {
                Registry::find_by_capability(&records, skill, now(), MAX_PAGE_SIZE).await?
            }
            None => Registry::list(&records, Page::default()).await?,
        })
    }

    /// Returns an agent on queues with its teams and work.
    pub async fn queue_agent(
        &self,
        agents: Option<&AgentRuntime>,
        name: &AgentName,
    ) -> Result<QueueAgentView> {
        let store = self.authorize(OrgPermission::View).await?;
        let records = self.queue_records();
        let record = Registry::get(&records, name).await?;
        let record = record.ok_or_else(|| QueueError::UnknownAgent(name.clone()))?;
        let waiting = match agents {
            Some(agents) => {
                let queue = agents.queue_of(name).await?;
                Some(agents.bus().depth(&queue).await.map_err(QueueError::from)?.total())
            }
            None => None,
        };
        let held = ostler_store::HeldMessageKind::WorkList;
        let list = store.held_messages(held, name, None, DETAILS as u32).await?;
        let teams = Teams::of_member(&records, name, Page::first(DETAILS)).await?;
        let work = DelegatedWork::Of(name.clone());
        Ok(QueueAgentView {
            record,
            teams: teams.into_iter().map(|team| team.name).collect(),
            waiting,
            on_its_list: list.len(),
            work: Delegations::list(&records, work, Page::first(DETAILS)).await?,
        })
    }

    /// Returns the teams by name.
    pub async fn queue_teams(&self) -> Result<Vec<Team>> {
        self.authorize(OrgPermission::View).await?;
        Ok(Teams::list(&self.queue_records(), Page::default()).await?)
    }

    /// Fails if there is no team of this name.
    pub async fn check_queue_team(&self, name: &TeamName) -> Result<()> {
        self.authorize(OrgPermission::View).await?;
        match Teams::get(&self.queue_records(), name).await? {
            Some(_) => Ok(()),
            None => Err(QueueError::UnknownTeam(name.clone()).into()),
        }
    }

    /// Returns delegations, by id.
    pub async fn delegations(&self, which: DelegatedWork) -> Result<Vec<Delegation>> {
        self.authorize(OrgPermission::View).await?;
        Ok(Delegations::list(&self.queue_records(), which, Page::default()).await?)
    }

    /// Returns the delegation with an id or a reference code.
    pub async fn find_delegation(&self, name: &str) -> Result<Delegation> {
        self.authorize(OrgPermission::View).await?;
        let records = self.queue_records();
        if let Ok(id) = name.parse::<DelegationId>() {
            let found = Delegations::get(&records, id).await?;
            return Ok(found.ok_or_else(|| QueueError::from(DelegationRefused::Unknown(id)))?);
        }
        let missing = || {
            let (kind, key) = ("delegation".to_owned(), name.to_owned());
            OperationError::NoRecord { kind, key }
        };
        let code: ReferenceCode = name.parse().map_err(|_| missing())?;
        let mut page = Page::default();
        loop {
            let found = Delegations::list(&records, DelegatedWork::All, page.clone()).await?;
            let last = found.last().map(|one| one.id).ok_or_else(missing)?;
            if let Some(work) = found.into_iter().find(|one| one.reference == code) {
                return Ok(work);
            }
            page.after = Some(last);
        }
    }

    /// Returns a delegation with what it waits for and what it blocks.
    pub async fn delegation(&self, name: &str) -> Result<DelegationView> {
        let work = self.find_delegation(name).await?;
        let records = self.queue_records();
        let (mut waits_for, mut blocks) = (Vec::new(), Vec::new());
        for id in &work.blocked_by {
            waits_for.extend(Delegations::get(&records, *id).await?);
        }
        for id in Delegations::blocks(&records, work.id).await? {
            blocks.extend(Delegations::get(&records, id).await?);
        }
        Ok(DelegationView { work, waits_for, blocks })
    }

    /// Returns the ids of the delegations that names stand for.
    pub async fn delegation_ids(&self, names: &[String]) -> Result<BTreeSet<DelegationId>> {
        let mut ids = BTreeSet::new();
        for name in names {
            ids.insert(self.find_delegation(name).await?.id);
        }
        Ok(ids)
    }

    /// Returns the queues of the org and the health of its agents.
    pub async fn bus_status(&self, agents: &AgentRuntime, is_shared: bool) -> Result<BusStatus> {
        self.authorize(OrgPermission::View).await?;
        let bus = agents.bus();
        let dead = bus.dead_letters(DeadLetterFilter::All, MAX_DEAD_LETTERS).await;
        let queues = match is_shared {
            true => agents.queues(INSPECTED_AGENTS).await?,
            false => Vec::new(),
        };
        Ok(BusStatus {
            status: agents.status().await?,
            is_shared,
            away: agents.away(INSPECTED_AGENTS).await?,
            queues,
            dead_letters: dead.map_err(QueueError::from)?.len(),
        })
    }

    /// Returns dead letters of the bus: all, or those of a queue.
    pub async fn bus_dead_letters(
        &self,
        agents: &AgentRuntime,
        queue: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        self.authorize(OrgPermission::View).await?;
        let filter = match queue {
            Some(queue) => DeadLetterFilter::Queue(parse_queue(queue)?),
            None => DeadLetterFilter::All,
        };
        let found = agents.bus().dead_letters(filter, limit.min(MAX_DEAD_LETTERS)).await;
        Ok(found.map_err(QueueError::from)?)
    }

    /// Puts dead letters of the bus back into their queues and returns how many: all, those of
    /// a queue, or one of them.
    pub async fn replay_bus(
        &self,
        agents: &AgentRuntime,
        queue: Option<&str>,
        message: Option<EnvelopeId>,
    ) -> Result<usize> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let filter = match (queue, message) {
            (None, None) => DeadLetterFilter::All,
            (None, Some(_)) => return Err(OperationError::Empty("the queue of a message")),
            (Some(queue), None) => DeadLetterFilter::Queue(parse_queue(queue)?),
            (Some(queue), Some(id)) => DeadLetterFilter::One { queue: parse_queue(queue)?, id },
        };
        let replayed = agents.bus().replay_dead_letters(filter).await.map_err(QueueError::from)?;
        if replayed > 0 {
            let data = json!({"queue": queue, "message": message, "replayed": replayed});
            let audit = self.audit_entry("replay_bus_dead_letters", &self.org, &data);
            store.append_audit(audit).await?;
        }
        Ok(replayed)
    }
}

fn parse_queue(text: &str) -> Result<QueueName> {
    text.parse().map_err(|_| {
        let (kind, key) = ("queue".to_owned(), text.to_owned());
        OperationError::NoRecord { kind, key }
    })
}
