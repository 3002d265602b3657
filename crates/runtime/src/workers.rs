//! Workers of templates: a record says when each was used last, so that sessions spread over
//! them, and idle ones are archived. The rules are in [`ostler_domain::agent::workers`].

use std::collections::BTreeMap;

use ostler_domain::agent::protection::{AgentChange, Editor, check_change};
use ostler_domain::agent::workers::{
    WorkerAgent, WorkerAssignment, WorkerPolicy, assign, workers_to_archive,
};
use ostler_domain::agent::{Agent, AgentKind, AgentStatus};
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, AuditId, RecordId};
use ostler_domain::time::Timestamp;
use ostler_store::{
    ConfigChange, ConfigWrite, NewAuditEntry, OrgStore, Record, RecordChange, StoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ids::{derived, fresh};
use crate::records::encode;

/// The record kind of a worker's last use.
const KIND: &str = "worker";
/// The maximum number of workers of an org that are read.
const MAX_RECORDS: u32 = 500;
/// How often an assignment is tried while others take the same workers.
const MAX_ATTEMPTS: usize = 20;

/// When a worker was used last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct WorkerUse {
    template: AgentId,
    used_at: Timestamp,
    #[serde(default)]
    archived: bool,
}

/// Returns a worker of a template for a new session: one that has been idle for a while,
/// else a new one; if there are as many as allowed, the one that has been idle longest.
pub(crate) async fn assign_worker(
    store: OrgStore<'_>,
    template: &Agent,
    now: Timestamp,
) -> Result<Agent, StoreError> {
    let policy = WorkerPolicy::default();
    for _ in 0..MAX_ATTEMPTS {
        let mut used = all_workers(store).await?;
        used.retain(|(_, used)| used.template == template.id);
        let active = used.iter().filter(|(_, used)| !used.archived);
        let workers: Vec<WorkerAgent> = active.map(|(record, used)| idle(record, *used)).collect();
        let taken = match assign(policy, &workers, now) {
            WorkerAssignment::Reuse(id) => take(store, &used, id, now).await,
            WorkerAssignment::Spawn => spawn(store, template, &used, now).await,
            WorkerAssignment::Full => {
                let longest_idle = workers.iter().min_by_key(|one| (one.idle_since, one.id));
                let id = longest_idle.map(|one| one.id).ok_or(StoreError::NotFound("worker"))?;
                take(store, &used, id, now).await
            }
        };
        match taken {
            // Another session took the same worker.
            Err(StoreError::Conflict(_)) => {}
            other => return other,
        }
    }
    Err(StoreError::Busy)
}

/// Records that a worker is used now.
pub(crate) async fn touch_worker(
    store: OrgStore<'_>,
    worker: &Agent,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(template) = worker.template else { return Ok(()) };
    let data = encode(&WorkerUse { template, used_at: now, archived: false });
    let written = match store.record(KIND, record_id(worker.id)).await {
        Ok(read) => store.update_record(KIND, &read, data).await,
        Err(StoreError::NotFound(_)) => store.create_record(KIND, record_id(worker.id), data).await,
        Err(other) => Err(other),
    };
    match written {
        // Another session of the worker has just done the same.
        Err(StoreError::Conflict(_)) => Ok(()),
        other => other,
    }
}

/// Archives the workers of an org that have been idle for long, except one of each template,
/// and returns how many.
pub(crate) async fn archive_idle_workers(
    store: OrgStore<'_>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let mut by_template: BTreeMap<AgentId, Vec<(Record, WorkerUse)>> = BTreeMap::new();
    let active = all_workers(store).await?.into_iter().filter(|(_, used)| !used.archived);
    for (record, used) in active {
        by_template.entry(used.template).or_default().push((record, used));
    }
    let mut archived = 0;
    for used in by_template.values() {
        let workers: Vec<WorkerAgent> =
            used.iter().map(|(record, used)| idle(record, *used)).collect();
        for id in workers_to_archive(WorkerPolicy::default(), &workers, now) {
            let record = used.iter().find(|(record, _)| record.id == record_id(id));
            if let Some((record, used)) = record {
                archived += u64::from(archive(store, id, record, *used).await?);
            }
        }
    }
    Ok(archived)
}

async fn archive(
    store: OrgStore<'_>,
    id: AgentId,
    record: &Record,
    used: WorkerUse,
) -> Result<bool, StoreError> {
    let agent = store.agent(id).await?;
    let status = AgentStatus::Archived;
    if check_change(&agent, Editor::Runtime, AgentChange::Status(status)).is_err() {
        return Ok(false);
    }
    let entry = NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::System,
        action: "archive_worker".to_owned(),
        subject: id.to_string(),
        data: json!({"before": {"status": agent.status}, "after": {"status": status}}).to_string(),
    };
    let record = RecordChange::UpdateRecord {
        kind: KIND.to_owned(),
        id: record.id,
        version: record.version,
        data: encode(&WorkerUse { archived: true, ..used }),
    };
    let change = ConfigChange {
        writes: vec![
            ConfigWrite::Agent(Box::new(Agent { status, ..agent })),
            ConfigWrite::Records(vec![record]),
        ],
        audit: vec![entry],
        ..ConfigChange::default()
    };
    match store.change_config(change).await {
        Ok(()) => Ok(true),
        // It has just been used.
        Err(StoreError::ConfigChanged) => Ok(false),
        Err(other) => Err(other),
    }
}

async fn all_workers(store: OrgStore<'_>) -> Result<Vec<(Record, WorkerUse)>, StoreError> {
    let records = store.records(KIND, None, MAX_RECORDS).await?;
    let decoded = records.into_iter().filter_map(|record| {
        let used = serde_json::from_str(&record.data).ok()?;
        Some((record, used))
    });
    Ok(decoded.collect())
}

fn idle(record: &Record, used: WorkerUse) -> WorkerAgent {
    let id = AgentId::from_u128(record.id.as_u128());
    WorkerAgent { id, idle_since: Some(used.used_at) }
}

async fn take(
    store: OrgStore<'_>,
    used: &[(Record, WorkerUse)],
    id: AgentId,
    now: Timestamp,
) -> Result<Agent, StoreError> {
    let found = used.iter().find(|(record, _)| record.id == record_id(id));
    let (record, used) = found.ok_or(StoreError::NotFound("worker"))?;
    let data = encode(&WorkerUse { used_at: now, ..*used });
    store.update_record(KIND, record, data).await?;
    store.agent(id).await
}

/// Creates the worker with the first free number, or brings an archived one back. Two
/// processes that create it at the same time create the same one, and one of them gets it.
async fn spawn(
    store: OrgStore<'_>,
    template: &Agent,
    used: &[(Record, WorkerUse)],
    now: Timestamp,
) -> Result<Agent, StoreError> {
    let id = |number: usize| {
        derived(AgentId::from_u128, template.id.as_u128(), &format!("worker {number}"))
    };
    let known = |number| used.iter().find(|(record, _)| record.id == record_id(id(number)));
    let is_free = |number: &usize| known(*number).is_none_or(|(_, used)| used.archived);
    let number = (1..).find(is_free).unwrap_or(1);
    let worker = Agent {
        id: id(number),
        slug: format!("{}-{number}", template.slug),
        kind: AgentKind::Worker,
        template: Some(template.id),
        created_at: now,
        ..template.clone()
    };
    store.save_agent(worker.clone()).await?;
    let data = encode(&WorkerUse { template: template.id, used_at: now, archived: false });
    match known(number) {
        Some((record, _)) => store.update_record(KIND, record, data).await?,
        None => store.create_record(KIND, record_id(worker.id), data).await?,
    }
    Ok(worker)
}

const fn record_id(worker: AgentId) -> RecordId {
    RecordId::from_u128(worker.as_u128())
}
