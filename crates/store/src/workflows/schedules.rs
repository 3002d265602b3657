//! Schedules of an org, and what happened at their due times. Starting a workflow for a due
//! time and deciding that due time are one transaction, so that each is started once, by
//! whichever worker comes first and whenever a process dies.

use ostler_domain::id::{OrgId, WorkflowId};
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::schedule::{
    MAX_SCHEDULES, OverlapPolicy, StartDecision, WorkflowSchedule, decide_overlap,
};

use super::{NewWorkflow, check_value_size};
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::delivery::notices::{self, NewNotice};
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::orgs::lock_org;
use crate::{OrgStore, Store};

/// A schedule as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSchedule {
    pub schedule: WorkflowSchedule,
    /// Due times up to this one are decided.
    pub decided_until: Timestamp,
    pub saved_at: Timestamp,
}

/// A schedule that a worker has to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSchedule {
    pub org: OrgId,
    pub stored: StoredSchedule,
}

/// A schedule that a worker has to look at and that cannot be read.
#[derive(Debug)]
pub struct UnreadableSchedule {
    pub org: OrgId,
    pub name: String,
    pub error: StoreError,
}

/// What is decided about a schedule.
#[derive(Debug, Clone)]
pub struct ScheduleAdvance {
    pub schedule: DueSchedule,
    /// Due times up to this one are decided from now on.
    pub decided_until: Timestamp,
    /// When to look again; `None` if never.
    pub check_at: Option<Timestamp>,
    /// When to look again while a start waits for the one before.
    pub queue_check_at: Timestamp,
    /// The due time to start for, and how many passed without a start.
    pub due: Option<Timestamp>,
    pub missed: u32,
    /// The workflow to start, or why there is none.
    pub workflow: std::result::Result<NewWorkflow, String>,
    /// The audit entry of the start; its due time is added.
    pub audit: NewAuditEntry,
    /// The notice that nothing can be started.
    pub notice: NewNotice,
}

/// What happened at a due time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledStart {
    pub due_at: Timestamp,
    pub outcome: StartOutcome,
    /// How many due times before it passed without a start.
    pub missed: u32,
    pub workflow: Option<WorkflowId>,
    /// Why nothing was started.
    pub reason: Option<String>,
}

/// The outcome of a due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartOutcome {
    Started,
    /// It waits until those before it have ended.
    Queued,
    /// A workflow of the schedule still ran.
    Skipped,
    /// There was nothing that could be started.
    Failed,
}

impl StartOutcome {
    const ALL: [Self; 4] = [Self::Started, Self::Queued, Self::Skipped, Self::Failed];

    /// Returns the name used in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Queued => "queued",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

/// How many due times of a schedule are remembered.
const KEPT_STARTS: i64 = 200;

const SAVE: Sql = sql!(
    "INSERT INTO workflow_schedules (org, name, data, decided_until, check_at, saved_at)
     VALUES (?1, ?2, ?3, now_ms(), CASE WHEN ?4 = 0 THEN now_ms() END, now_ms())
     ON CONFLICT (org, name) DO UPDATE SET data = excluded.data,
       decided_until = excluded.decided_until, check_at = excluded.check_at,
       saved_at = excluded.saved_at"
);
/// What waited for a workflow of the schedule as it was before does not start any more.
const DELETE_QUEUE: Sql =
    sql!("DELETE FROM workflow_starts WHERE org = ?1 AND schedule = ?2 AND outcome = 'queued'");
const DELETE: Sql = sql!("DELETE FROM workflow_schedules WHERE org = ?1 AND name = ?2");
const LIST: Sql = sql!(
    "SELECT org, data, decided_until, saved_at FROM workflow_schedules WHERE org = ?1 ORDER BY name"
);
const COUNT_OTHERS: Sql =
    sql!("SELECT count(*) FROM workflow_schedules WHERE org = ?1 AND name <> ?2");
const DUE: Sql = sql!(
    "SELECT org, data, decided_until, saved_at, name FROM workflow_schedules
     WHERE check_at <= ?1 ORDER BY check_at LIMIT ?2"
);
const ADVANCE: Sql = sql!(
    "UPDATE workflow_schedules SET decided_until = ?5, check_at = ?6
     WHERE org = ?1 AND name = ?2 AND decided_until = ?3 AND saved_at = ?4
       AND check_at IS NOT NULL"
);
const POSTPONE: Sql = sql!(
    "UPDATE workflow_schedules SET check_at = ?3
     WHERE org = ?1 AND name = ?2 AND check_at IS NOT NULL"
);
/// Due times before now are those of another time zone, or of a time when nothing was to
/// start. One that is being decided right now stays.
const CHECK_NOW: Sql = sql!(
    "UPDATE workflow_schedules SET check_at = now_ms(),
       decided_until = CASE WHEN check_at > now_ms() OR ?2 = 1 THEN now_ms() ELSE decided_until END
     WHERE org = ?1 AND check_at IS NOT NULL"
);
const CHECK_AGAIN: Sql = sql!(
    "UPDATE workflow_schedules SET check_at = ?3
     WHERE org = ?1 AND name = ?2 AND (check_at IS NULL OR check_at > ?3)"
);
const RUNNING: Sql = sql!(
    "SELECT count(*) FROM workflow_starts s JOIN workflows w ON w.org = s.org AND w.id = s.workflow
     WHERE s.org = ?1 AND s.schedule = ?2 AND w.status NOT IN ('done', 'failed', 'cancelled')"
);
const QUEUED: Sql = sql!(
    "SELECT due_at FROM workflow_starts
     WHERE org = ?1 AND schedule = ?2 AND outcome = 'queued' ORDER BY due_at"
);
const INSERT_START: Sql = sql!(
    "INSERT INTO workflow_starts
       (org, schedule, due_at, outcome, workflow, missed, reason, decided_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms())
     ON CONFLICT (org, schedule, due_at) DO NOTHING"
);
const START_QUEUED: Sql = sql!(
    "UPDATE workflow_starts SET outcome = ?4, workflow = ?5, reason = ?6, decided_at = now_ms()
     WHERE org = ?1 AND schedule = ?2 AND due_at = ?3 AND outcome = 'queued'"
);
/// Not those whose workflows run: they decide about the next due time.
const FORGET_STARTS: Sql = sql!(
    "DELETE FROM workflow_starts WHERE org = ?1 AND schedule = ?2 AND outcome <> 'queued'
       AND due_at < (SELECT s.due_at FROM workflow_starts s
         WHERE s.org = ?1 AND s.schedule = ?2 ORDER BY s.due_at DESC LIMIT 1 OFFSET ?3)
       AND NOT EXISTS (SELECT 1 FROM workflows w
         WHERE w.org = workflow_starts.org AND w.id = workflow_starts.workflow
           AND w.status NOT IN ('done', 'failed', 'cancelled'))"
);
const STARTS: Sql = sql!(
    "SELECT due_at, outcome, missed, workflow, reason FROM workflow_starts
     WHERE org = ?1 AND schedule = ?2 ORDER BY due_at DESC LIMIT ?3"
);

impl OrgStore<'_> {
    /// Returns the schedules by name.
    pub fn workflow_schedules(&self) -> StoreFuture<Vec<StoredSchedule>> {
        self.rows(&LIST, [], |row| Ok(read_due(row)?.stored))
    }

    /// Returns what happened at the last due times of a schedule, newest first.
    pub fn workflow_starts(&self, schedule: &str, limit: u32) -> StoreFuture<Vec<ScheduledStart>> {
        self.rows(&STARTS, [schedule.into(), limit.into()], read_start)
    }
}

impl Store {
    /// Returns the schedules of all orgs that a worker has to look at. One that cannot be read
    /// is an error among them.
    pub fn due_schedules(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> StoreFuture<Vec<std::result::Result<DueSchedule, UnreadableSchedule>>> {
        self.read_all_orgs(move |tx| {
            let read = |row: &Row| {
                Ok(match read_due(row) {
                    Ok(due) => Ok(due),
                    Err(error) => {
                        let (org, name) = (row.id(0)?, row.text(4)?.to_owned());
                        Err(UnreadableSchedule { org, name, error })
                    }
                })
            };
            tx.query(&DUE, &[now.into(), limit.into()])?.iter().map(read).collect()
        })
    }

    /// Decides the due times of a schedule and starts at most one workflow: for the due time
    /// that has waited longest. Returns what was started, and nothing if another worker was
    /// faster or the schedule has changed.
    pub fn advance_schedule(&self, advance: ScheduleAdvance) -> StoreFuture<Option<WorkflowId>> {
        self.org(advance.schedule.org).write(move |tx| run_advance(tx, &advance))
    }
}

impl OrgStore<'_> {
    /// Has a worker look at a schedule later. Nothing is decided about its due times.
    pub async fn postpone_schedule(&self, name: &str, check_at: Timestamp) -> Result<()> {
        self.execute(&POSTPONE, [name.into(), check_at.into()]).await.map(drop)
    }
}

/// Whether due times before now that are not decided may still start a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierDueTimes {
    Kept,
    Dropped,
}

/// Has a worker look at all schedules of an org now, because the times at which they are due
/// have changed.
pub(crate) fn check_now(tx: &Tx, org: OrgId, earlier: EarlierDueTimes) -> Result<()> {
    let drop_all = i64::from(earlier == EarlierDueTimes::Dropped);
    tx.execute(&CHECK_NOW, &[org.into(), drop_all.into()]).map(drop)
}

/// Returns all schedules of an org by name, inside a transaction.
pub(crate) fn list(tx: &Tx, org: OrgId) -> Result<Vec<WorkflowSchedule>> {
    let rows = tx.query(&LIST, &[org.into()])?;
    rows.iter().map(|row| Ok(read_due(row)?.stored.schedule)).collect()
}

/// Creates or replaces a schedule, which starts over. Fails with [`StoreError::TooMany`] if
/// the org has too many, and with [`StoreError::TooLarge`] if its input is too large to start.
pub(crate) fn save(tx: &Tx, org: OrgId, schedule: &WorkflowSchedule) -> Result<()> {
    lock_org(tx, org)?;
    let key = || [Value::from(org), schedule.name.as_str().into()];
    let others = tx.first(&COUNT_OTHERS, &key())?.map_or(Ok(0), |row| row.int(0))?;
    if others >= MAX_SCHEDULES as i64 {
        return Err(StoreError::TooMany { what: "schedules", limit: MAX_SCHEDULES });
    }
    let [org, name] = key();
    let paused = i64::from(schedule.paused);
    let data = Value::json(schedule)?;
    check_value_size("input of the schedule", &data)?;
    tx.execute(&SAVE, &[org, name, data, paused.into()])?;
    tx.execute(&DELETE_QUEUE, &key()).map(drop)
}

/// Deletes a schedule and what is remembered of its due times.
pub(crate) fn delete(tx: &Tx, org: OrgId, name: &str) -> Result<()> {
    match tx.execute(&DELETE, &[org.into(), name.into()])? {
        0 => Err(StoreError::NotFound("schedule")),
        _ => Ok(()),
    }
}

/// Starts a workflow of a schedule that a person wants now, besides its due times.
pub(crate) fn start_now(
    tx: &Tx,
    org: OrgId,
    schedule: &str,
    at: Timestamp,
    new: &NewWorkflow,
) -> Result<()> {
    let start = (StartOutcome::Started, Some(new.id), None);
    if !insert_start(tx, (org, schedule), at, 0, start)? {
        return Err(StoreError::Conflict("a start of this schedule at this moment".to_owned()));
    }
    super::start(tx, org, new)
}

fn run_advance(tx: &Tx, advance: &ScheduleAdvance) -> Result<Option<WorkflowId>> {
    let ScheduleAdvance { schedule: DueSchedule { org, stored }, check_at, .. } = advance;
    let name = stored.schedule.name.as_str();
    let params = [
        (*org).into(),
        name.into(),
        stored.decided_until.into(),
        stored.saved_at.into(),
        advance.decided_until.into(),
        check_at.map_or(Value::Null, Value::from),
    ];
    if tx.execute(&ADVANCE, &params)? == 0 {
        return Ok(None);
    }
    let key = [Value::from(*org), name.into()];
    let running = tx.first(&RUNNING, &key)?.map_or(Ok(0), |row| row.int(0))?;
    let running = u32::try_from(running).unwrap_or(u32::MAX);
    let mut queue =
        tx.query(&QUEUED, &key)?.iter().map(|row| row.time(0)).collect::<Result<Vec<_>>>()?;
    let mut started = None;
    if let Some(due) = advance.due {
        let queued = u32::try_from(queue.len()).unwrap_or(u32::MAX);
        match decide_overlap(stored.schedule.overlap, running, queued) {
            StartDecision::Start => started = start_due(tx, advance, due, DueEntry::New)?,
            StartDecision::Queue => {
                let waits = (StartOutcome::Queued, None, None);
                insert_start(tx, (*org, name), due, advance.missed, waits)?;
                queue.push(due);
            }
            StartDecision::Skip => {
                let skipped = (StartOutcome::Skipped, None, Some("the one before still runs"));
                insert_start(tx, (*org, name), due, advance.missed, skipped)?;
            }
        }
        tx.execute(&FORGET_STARTS, &[(*org).into(), name.into(), KEPT_STARTS.into()])?;
    }
    let may_start =
        running == 0 && started.is_none() && stored.schedule.overlap == OverlapPolicy::Queue;
    if let Some(first) = queue.first().filter(|_| may_start) {
        started = start_due(tx, advance, *first, DueEntry::Queued)?;
        queue.remove(0);
    }
    if !queue.is_empty() {
        let [org, name] = key;
        tx.execute(&CHECK_AGAIN, &[org, name, advance.queue_check_at.into()])?;
    }
    Ok(started)
}

/// Whether a due time is stored already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DueEntry {
    New,
    Queued,
}

/// Starts the workflow of a due time, or stores why that is not possible.
fn start_due(
    tx: &Tx,
    advance: &ScheduleAdvance,
    due: Timestamp,
    entry: DueEntry,
) -> Result<Option<WorkflowId>> {
    let (org, name) = (advance.schedule.org, advance.schedule.stored.schedule.name.as_str());
    let (outcome, id, reason) = match &advance.workflow {
        Ok(new) => (StartOutcome::Started, Some(new.id), None),
        Err(reason) => (StartOutcome::Failed, None, Some(reason.as_str())),
    };
    let is_first = match entry {
        DueEntry::New => insert_start(tx, (org, name), due, advance.missed, (outcome, id, reason))?,
        DueEntry::Queued => {
            let params = [
                org.into(),
                name.into(),
                due.into(),
                outcome.name().into(),
                id.map_or(Value::Null, Value::from),
                reason.map_or(Value::Null, Value::from),
            ];
            tx.execute(&START_QUEUED, &params)? > 0
        }
    };
    if !is_first {
        return Ok(None);
    }
    match &advance.workflow {
        Ok(new) => {
            let entry = entry_with_due(&advance.audit, due)?;
            tx.batch(&[audit::append(org, &entry)?])?;
            super::start(tx, org, new)?;
        }
        Err(_) => drop(notices::notify(tx, org, &advance.notice)?),
    }
    Ok(id)
}

/// Returns the audit entry of a start with its due time, which may be one that has waited.
fn entry_with_due(entry: &NewAuditEntry, due: Timestamp) -> Result<NewAuditEntry> {
    let corrupt = |error: serde_json::Error| StoreError::Backend(error.to_string());
    let mut data: serde_json::Value = serde_json::from_str(&entry.data).map_err(corrupt)?;
    data["due"] = serde_json::to_value(due).map_err(corrupt)?;
    Ok(NewAuditEntry { data: data.to_string(), ..entry.clone() })
}

/// Stores what happens at a due time. Returns false if it is decided already.
fn insert_start(
    tx: &Tx,
    (org, schedule): (OrgId, &str),
    due: Timestamp,
    missed: u32,
    (outcome, workflow, reason): (StartOutcome, Option<WorkflowId>, Option<&str>),
) -> Result<bool> {
    let params = [
        org.into(),
        schedule.into(),
        due.into(),
        outcome.name().into(),
        workflow.map_or(Value::Null, Value::from),
        missed.into(),
        reason.map_or(Value::Null, Value::from),
    ];
    Ok(tx.execute(&INSERT_START, &params)? > 0)
}

fn read_due(row: &Row) -> Result<DueSchedule> {
    let stored = StoredSchedule {
        schedule: row.json(1, "schedule")?,
        decided_until: row.time(2)?,
        saved_at: row.time(3)?,
    };
    Ok(DueSchedule { org: row.id(0)?, stored })
}

fn read_start(row: &Row) -> Result<ScheduledStart> {
    let name = row.text(1)?;
    let outcome = StartOutcome::ALL.into_iter().find(|one| one.name() == name);
    let corrupt = || StoreError::CorruptValue { what: "start", why: format!("unknown {name}") };
    Ok(ScheduledStart {
        due_at: row.time(0)?,
        outcome: outcome.ok_or_else(corrupt)?,
        missed: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
        workflow: row.opt_id(3)?,
        reason: row.opt_parsed(4, "reason")?,
    })
}
