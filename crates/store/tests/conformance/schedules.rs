//! Workflow definitions and schedules, and what happens at due times.

use std::collections::BTreeMap;

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, NoticeId, OrgId, WorkflowId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::WorkflowDefinition;
use ostler_domain::workflow::schedule::{OverlapPolicy, WorkflowSchedule};
use ostler_store::{
    ConfigChange, ConfigWrite, DueSchedule, NewAuditEntry, NewNotice, NewWorkflow, ScheduleAdvance,
    StartOutcome, Store, WorkflowCommit, WorkflowLeaseAction,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::on_every_backend;
use crate::support::{next, with_org};

/// The first due time, after everything that a test has saved.
const LATER: Timestamp = Timestamp::from_millis(4_000_000_000_000);
/// After all due times.
const AT_LAST: Timestamp = Timestamp::from_millis(8_000_000_000_000);

fn definition() -> WorkflowDefinition {
    let whole = json!({"name": "test", "step": [{"id": "a", "value": "x"}]});
    serde_json::from_value(whole).unwrap()
}

fn schedule(overlap: OverlapPolicy) -> WorkflowSchedule {
    WorkflowSchedule {
        name: "hourly".into(),
        workflow: "test".into(),
        input: BTreeMap::new(),
        cron: "0 * * * *".parse().unwrap(),
        time_zone: None,
        missed: ostler_domain::workflow::schedule::MissedStarts::RunOnce,
        overlap,
        paused: false,
    }
}

async fn save(store: &Store, org: OrgId, schedule: WorkflowSchedule) {
    let writes = vec![
        ConfigWrite::Workflow(Box::new(definition())),
        ConfigWrite::Schedule(Box::new(schedule)),
    ];
    store.org(org).change_config(ConfigChange { writes, ..Default::default() }).await.unwrap();
}

async fn due(store: &Store) -> DueSchedule {
    let mut all = store.due_schedules(AT_LAST, 10).await.unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0).unwrap()
}

fn advance(schedule: &DueSchedule, hour: i64) -> ScheduleAdvance {
    let at = Timestamp::from_millis(LATER.as_millis() + hour * 3_600_000);
    let new = NewWorkflow {
        id: WorkflowId::from_u128(next()),
        name: "test".into(),
        definition: "{}".into(),
        input: "{}".into(),
        state: "0".into(),
        parent: None,
    };
    ScheduleAdvance {
        schedule: schedule.clone(),
        decided_until: at,
        check_at: Some(at),
        queue_check_at: at,
        due: Some(at),
        missed: 3,
        audit: NewAuditEntry {
            id: AuditId::from_u128(next()),
            actor: AuditActor::System,
            action: "start_workflow".into(),
            subject: new.id.to_string(),
            data: "{}".into(),
        },
        workflow: Ok(new),
        notice: NewNotice {
            id: NoticeId::from_u128(next()),
            kind: NoticeKind::WorkflowFailed,
            recipient: NoticeRecipient::Owner,
            subject: "hourly".into(),
            data: "{}".into(),
        },
    }
}

async fn outcomes(store: &Store, org: OrgId) -> Vec<StartOutcome> {
    let starts = store.org(org).workflow_starts("hourly", 100).await.unwrap();
    starts.into_iter().rev().map(|start| start.outcome).collect()
}

/// Ends the workflow that runs.
async fn end_workflow(store: &Store) {
    let claimed =
        store.claim_workflow(std::time::Duration::from_secs(60), 1000).await.unwrap().unwrap();
    let commit = WorkflowCommit {
        lease: claimed.lease,
        status: "done".into(),
        state: "1".into(),
        spent: 0,
        tasks: vec![],
        consumed_answers: vec![],
        waits: vec![],
        ended_waits: vec![],
        clear_waits: false,
        changes: vec![],
        audit: vec![],
        charges: vec![],
        notices: vec![],
        children: vec![],
        cancel_children: false,
        ended: None,
        events: vec![],
        lease_ttl: std::time::Duration::from_secs(60),
        lease_action: WorkflowLeaseAction::End,
    };
    store.commit_workflow(commit).await.unwrap();
}

on_every_backend!(
    /// O30: of several workers that find the same due time, one starts its workflow.
    o30_a_due_time_starts_one_workflow_with_several_workers
);
async fn o30_a_due_time_starts_one_workflow_with_several_workers(store: &Store) {
    let org = with_org(store, 1).await;
    save(store, org, schedule(OverlapPolicy::Allow)).await;
    let found = due(store).await;
    assert_eq!(found.org, org);
    let mut workers = JoinSet::new();
    for _ in 0..8 {
        let (store, advance) = (store.clone(), advance(&found, 0));
        workers.spawn(async move { store.advance_schedule(advance).await.unwrap() });
    }
    let started: Vec<WorkflowId> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(started.len(), 1);
    let workflows = store.org(org).workflows(None, 10).await.unwrap();
    assert_eq!(workflows.iter().map(|one| one.id).collect::<Vec<_>>(), started);
    let starts = store.org(org).workflow_starts("hourly", 10).await.unwrap();
    assert_eq!((starts.len(), starts[0].workflow, starts[0].missed), (1, Some(started[0]), 3));
    // A change of the schedule lets it start over, and what was read before is worth nothing.
    let found = due(store).await;
    save(store, org, schedule(OverlapPolicy::Allow)).await;
    assert_eq!(store.advance_schedule(advance(&found, 1)).await.unwrap(), None);
    // One that is paused is not due.
    save(store, org, WorkflowSchedule { paused: true, ..schedule(OverlapPolicy::Allow) }).await;
    assert!(store.due_schedules(AT_LAST, 10).await.unwrap().is_empty());
}

on_every_backend!(
    /// O30: while a workflow of a schedule runs, the next due time is skipped or waits.
    o30_overlapping_due_times_are_skipped_or_wait
);
async fn o30_overlapping_due_times_are_skipped_or_wait(store: &Store) {
    let org = with_org(store, 1).await;
    save(store, org, schedule(OverlapPolicy::Skip)).await;
    for hour in 0..2 {
        store.advance_schedule(advance(&due(store).await, hour)).await.unwrap();
    }
    assert_eq!(outcomes(store, org).await, [StartOutcome::Started, StartOutcome::Skipped]);

    save(store, org, schedule(OverlapPolicy::Queue)).await;
    for hour in 2..4 {
        store.advance_schedule(advance(&due(store).await, hour)).await.unwrap();
    }
    assert_eq!(outcomes(store, org).await[2..], [StartOutcome::Queued, StartOutcome::Queued]);
    end_workflow(store).await;
    let nothing_due = |found: &DueSchedule| ScheduleAdvance { due: None, ..advance(found, 3) };
    let first = store.advance_schedule(nothing_due(&due(store).await)).await.unwrap();
    assert!(first.is_some(), "the first of the queue starts");
    let none = store.advance_schedule(nothing_due(&due(store).await)).await.unwrap();
    assert_eq!(none, None, "the second waits");
    assert_eq!(outcomes(store, org).await[2..], [StartOutcome::Started, StartOutcome::Queued]);

    // Where nothing can be started, the owner learns why.
    end_workflow(store).await;
    let found = due(store).await;
    let broken = ScheduleAdvance { workflow: Err("it is gone".into()), ..nothing_due(&found) };
    assert_eq!(store.advance_schedule(broken).await.unwrap(), None);
    let starts = store.org(org).workflow_starts("hourly", 1).await.unwrap();
    assert_eq!(starts[0].outcome, StartOutcome::Failed);
    assert_eq!(starts[0].reason.as_deref(), Some("it is gone"));
    let notices = store.org(org).unread_notices(NoticeRecipient::Owner, None, 10).await.unwrap();
    assert_eq!(notices.len(), 1);
}

on_every_backend!(
    /// O30: definitions and schedules are a part of the configuration; due times are not.
    o30_definitions_and_schedules_are_part_of_the_configuration
);
async fn o30_definitions_and_schedules_are_part_of_the_configuration(store: &Store) {
    let org = with_org(store, 1).await;
    let other = with_org(store, 2).await;
    let version = async || store.org(org).config_version().await.unwrap();
    let before = version().await;
    save(store, org, schedule(OverlapPolicy::Skip)).await;
    let saved = version().await;
    assert_ne!(before, saved);
    store.advance_schedule(advance(&due(store).await, 0)).await.unwrap();
    assert_eq!(version().await, saved);
    let state = store.org(org).state().await.unwrap();
    assert_eq!(state.workflows, [definition()]);
    assert_eq!(state.schedules, [schedule(OverlapPolicy::Skip)]);
    assert!(store.org(other).workflow_definition("test").await.unwrap().is_none());
    assert!(store.org(other).workflow_schedules().await.unwrap().is_empty());
    let writes = vec![
        ConfigWrite::DeleteWorkflow("test".into()),
        ConfigWrite::DeleteSchedule("hourly".into()),
    ];
    store.org(org).change_config(ConfigChange { writes, ..Default::default() }).await.unwrap();
    assert!(outcomes(store, org).await.is_empty());
    assert_ne!(version().await, saved);
}

on_every_backend!(
    /// O30: a workflow that runs while hundreds of due times are skipped is not forgotten.
    o30_a_running_workflow_is_seen_however_many_due_times_are_skipped
);
async fn o30_a_running_workflow_is_seen_however_many_due_times_are_skipped(store: &Store) {
    let org = with_org(store, 1).await;
    save(store, org, schedule(OverlapPolicy::Skip)).await;
    let mut started = Vec::new();
    for hour in 0..210 {
        started.extend(store.advance_schedule(advance(&due(store).await, hour)).await.unwrap());
    }
    assert_eq!(started.len(), 1);
    assert_eq!(store.org(org).workflows(None, 10).await.unwrap().len(), 1);
}
