//! Starts workflows at the due times of their schedules, in any process.
//!
//! `domain::workflow::schedule` decides, the store makes the decision and the start one
//! transaction. So each due time is started once, whichever worker looks first, and a process that
//! dies has either started it or not.

use std::time::Duration;

use jiff::tz::TimeZone;
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, NoticeId, WorkflowId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::schedule::{WorkflowSchedule, decide_due};
use ostler_domain::workflow::{WorkflowDefinition, WorkflowProgress};
use ostler_store::{
    DueSchedule, NewAuditEntry, NewNotice, NewWorkflow, OrgStore, ScheduleAdvance, Store,
    StoreError, UnreadableSchedule,
};
use serde_json::{Value, json};

use crate::deps::Clock;
use crate::ids::fresh;
use crate::records::encode;

/// How many schedules are read at once.
const BATCH: u32 = 100;
/// When a schedule with a start that waits for the one before is looked at again.
const QUEUE_INTERVAL: Duration = Duration::from_secs(2);
/// When a schedule with data that cannot be read or stored is looked at again.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// When a schedule of an archived org is looked at again. It continues at once when the org does.
const ARCHIVED_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The most characters of a reason in the subject of a notice.
const MAX_REASON_CHARS: usize = 200;

/// Looks at the schedules that are due and starts their workflows. Returns what was started.
/// One that cannot be read or started holds up no other: it is looked at again later.
pub async fn start_due_workflows(
    store: &Store,
    clock: &Clock,
) -> Result<Vec<WorkflowId>, StoreError> {
    let mut started = Vec::new();
    for due in store.due_schedules(clock.now(), BATCH).await? {
        let (org, name, failed) = match due {
            Ok(due) => {
                let (org, name) = (due.org, due.stored.schedule.name.clone());
                match start_due(store, due, clock.now()).await {
                    Ok(workflow) => {
                        started.extend(workflow);
                        continue;
                    }
                    Err(error) => (org, name, error),
                }
            }
            Err(UnreadableSchedule { org, name, error }) => (org, name, error),
        };
        tracing::warn!(error = %failed, %org, schedule = name, "schedule not started, will retry");
        // Anything else, such as a conflict with another process, is tried again at the next look.
        if matches!(failed, StoreError::CorruptValue { .. } | StoreError::TooLarge { .. }) {
            store.org(org).postpone_schedule(&name, clock.now() + RETRY_INTERVAL).await?;
        }
    }
    Ok(started)
}

async fn start_due(
    store: &Store,
    due: DueSchedule,
    now: Timestamp,
) -> Result<Option<WorkflowId>, StoreError> {
    let here = store.org(due.org);
    let org = here.org().await?;
    if org.archived {
        // Its due times of this time are not missed.
        let name = &due.stored.schedule.name;
        here.postpone_schedule(name, now + ARCHIVED_INTERVAL).await?;
        return Ok(None);
    }
    let workflow = match new_workflow(here, &due.stored.schedule).await {
        Err(error @ StoreError::CorruptValue { .. }) => Err(error.to_string()),
        other => other?,
    };
    let advance = advance_of(due, &org.time_zone, workflow, now);
    crate::faults::point("before_schedule_advance");
    let started = match store.advance_schedule(advance.clone()).await {
        Err(error @ StoreError::TooLarge { .. }) => {
            let ScheduleAdvance { schedule, .. } = advance;
            let failed = advance_of(schedule, &org.time_zone, Err(error.to_string()), now);
            store.advance_schedule(failed).await?
        }
        other => other?,
    };
    crate::faults::point("after_schedule_advance");
    Ok(started)
}

/// Decides about the due times of a schedule that starts a workflow, or fails with a reason.
fn advance_of(
    due: DueSchedule,
    org_zone: &str,
    workflow: Result<NewWorkflow, String>,
    now: Timestamp,
) -> ScheduleAdvance {
    let schedule = &due.stored.schedule;
    let zone = time_zone(schedule.zone_name(org_zone));
    let offset = |at: Timestamp| utc_offset(&zone, at);
    let decided =
        decide_due(&schedule.cron, schedule.missed, due.stored.decided_until, now, &offset);
    ScheduleAdvance {
        decided_until: decided.decided_until,
        check_at: decided.next,
        queue_check_at: now + QUEUE_INTERVAL,
        due: decided.start,
        missed: decided.missed,
        audit: start_entry(schedule, &workflow),
        notice: failed_notice(schedule, workflow.as_ref().err(), now),
        workflow,
        schedule: due,
    }
}

/// Returns the next due times of a schedule that is not paused.
pub(crate) fn next_due_times(
    schedule: &WorkflowSchedule,
    org_zone: &str,
    now: Timestamp,
    count: usize,
) -> Vec<Timestamp> {
    if schedule.paused {
        return Vec::new();
    }
    let zone = time_zone(schedule.zone_name(org_zone));
    let offset = |at: Timestamp| utc_offset(&zone, at);
    schedule.cron.due_after(now, &offset).take(count).collect()
}

/// Returns the workflow that a schedule starts, or why that is not possible.
pub(crate) async fn new_workflow(
    store: OrgStore<'_>,
    schedule: &WorkflowSchedule,
) -> Result<Result<NewWorkflow, String>, StoreError> {
    let name = &schedule.workflow;
    let definition = match store.workflow_definition(name).await {
        Ok(Some(definition)) => definition,
        Ok(None) => return Ok(Err(format!("there is no workflow `{name}`"))),
        Err(error @ StoreError::CorruptValue { .. }) => return Ok(Err(error.to_string())),
        Err(error) => return Err(error),
    };
    let input: Value = schedule.input.clone().into_iter().collect();
    Ok(match definition.check_input(schedule.input.keys().map(String::as_str)) {
        Ok(()) => Ok(workflow_of(&definition, &input)),
        Err(mismatch) => Err(mismatch.to_string()),
    })
}

/// Returns a new workflow of a definition.
pub(crate) fn workflow_of(definition: &WorkflowDefinition, input: &Value) -> NewWorkflow {
    NewWorkflow {
        id: fresh(WorkflowId::from_u128),
        name: definition.name().to_owned(),
        definition: encode(definition),
        input: input.to_string(),
        state: encode(&WorkflowProgress::new(definition)),
        parent: None,
    }
}

/// Returns a time zone by its name; an unknown name means UTC. Names are checked when a
/// schedule is saved.
fn time_zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

fn utc_offset(zone: &TimeZone, at: Timestamp) -> i32 {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    zone.to_offset(at).seconds()
}

fn start_entry(
    schedule: &WorkflowSchedule,
    workflow: &Result<NewWorkflow, String>,
) -> NewAuditEntry {
    let id = workflow.as_ref().map(|new| new.id.to_string()).unwrap_or_default();
    let data = json!({"name": schedule.workflow, "schedule": schedule.name});
    NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::System,
        action: "start_workflow".to_owned(),
        subject: id,
        data: data.to_string(),
    }
}

/// Returns the notice that nothing can be started: one a day for each reason.
fn failed_notice(
    schedule: &WorkflowSchedule,
    reason: Option<&String>,
    now: Timestamp,
) -> NewNotice {
    let WorkflowSchedule { name, workflow, .. } = schedule;
    let data = json!({"name": workflow, "schedule": name, "reason": reason});
    let reason: String =
        reason.map(String::as_str).unwrap_or_default().chars().take(MAX_REASON_CHARS).collect();
    NewNotice {
        id: fresh(NoticeId::from_u128),
        kind: NoticeKind::WorkflowFailed,
        recipient: NoticeRecipient::Owner,
        subject: format!("schedule {name} failed on day {}: {reason}", now.utc_day().number()),
        data: data.to_string(),
    }
}
