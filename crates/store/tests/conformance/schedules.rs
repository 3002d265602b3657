//! Workflow definitions and schedules, and what happens at due times.

use std::collections::BTreeMap;

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, NoticeId, OrgId, WorkflowId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::Org;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::WorkflowDefinition;
use ostler_domain::workflow::schedule::{OverlapPolicy, WorkflowSchedule};
use ostler_store::{
    ConfigChange, ConfigWrite, DueSchedule, NewAuditEntry, NewNotice, NewWorkflow, ScheduleAdvance,
    StartOutcome, Store, StoreError, WorkflowCommit, WorkflowLeaseAction,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::on_every_backend;
use crate::support::{TestDatabase, next, with_org};

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
    let log = store.org(org).audit_entries(None, None, 9).await.unwrap();
    let due_at = json!({"due": starts[0].due_at}).to_string();
    assert!(log.iter().any(|one| one.entry.data == due_at), "{log:?}");
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
    /// O30: a workflow that runs for long counts as running, however many due times are skipped.
    o30_skipped_due_times_do_not_forget_the_workflow_that_runs
);
async fn o30_skipped_due_times_do_not_forget_the_workflow_that_runs(store: &Store) {
    let org = with_org(store, 1).await;
    save(store, org, schedule(OverlapPolicy::Skip)).await;
    for hour in 0..205 {
        store.advance_schedule(advance(&due(store).await, hour)).await.unwrap();
    }
    assert_eq!(store.org(org).workflows(None, 10).await.unwrap().len(), 1);
    let starts = store.org(org).workflow_starts("hourly", 300).await.unwrap();
    assert_eq!(starts.last().unwrap().outcome, StartOutcome::Started);
    end_workflow(store).await;
    let next = store.advance_schedule(advance(&due(store).await, 205)).await.unwrap();
    assert!(next.is_some());
    let starts = store.org(org).workflow_starts("hourly", 300).await.unwrap();
    assert!(starts.len() <= 201, "{}", starts.len());
}

on_every_backend!(
    /// O30: what could not be started is not saved, and limits are said.
    o30_definitions_and_inputs_that_are_too_large_are_not_saved
);
async fn o30_definitions_and_inputs_that_are_too_large_are_not_saved(store: &Store) {
    let org = with_org(store, 1).await;
    save(store, org, schedule(OverlapPolicy::Skip)).await;
    let mut large = schedule(OverlapPolicy::Skip);
    large.input.insert("text".into(), json!("x".repeat(1 << 20)));
    let step = |number| json!({"id": format!("s{number}"), "value": "x".repeat(60_000)});
    let steps: Vec<serde_json::Value> = (0..20).map(step).collect();
    let whole = json!({"name": "test", "step": steps});
    let definition: WorkflowDefinition = serde_json::from_value(whole).unwrap();
    for write in
        [ConfigWrite::Schedule(Box::new(large)), ConfigWrite::Workflow(Box::new(definition))]
    {
        let change = ConfigChange { writes: vec![write], ..Default::default() };
        let refused = store.org(org).change_config(change).await;
        assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
    }
    let others = (0..200).map(|number| {
        let name = format!("s{number}");
        ConfigWrite::Schedule(Box::new(WorkflowSchedule { name, ..schedule(OverlapPolicy::Skip) }))
    });
    let change = ConfigChange { writes: others.collect(), ..Default::default() };
    let refused = store.org(org).change_config(change).await.unwrap_err();
    assert_eq!(refused.to_string(), "too many schedules; the limit is 200");
}

on_every_backend!(
    /// O30: schedules follow the time zone of their org, and what passed while it was archived
    /// is not made up for.
    o30_schedules_follow_a_change_of_their_org
);
async fn o30_schedules_follow_a_change_of_their_org(store: &Store) {
    let org = with_org(store, 1).await;
    save(store, org, schedule(OverlapPolicy::Skip)).await;
    // As after a look: decided some time ago, and due in the future.
    let past = Timestamp::from_millis(1_000_000);
    let look = async |check_at| {
        let found = due(store).await;
        let looked = ScheduleAdvance { due: None, check_at, ..advance(&found, 0) };
        let looked = ScheduleAdvance { decided_until: past, ..looked };
        store.advance_schedule(looked).await.unwrap();
    };
    let stored = store.org(org).org().await.unwrap();
    let soon = Timestamp::from_millis(Timestamp::from_millis(0).as_millis() + 3_000_000_000_000);
    let due_now = async || store.due_schedules(soon, 10).await.unwrap().len();
    look(Some(LATER)).await;
    assert_eq!(due_now().await, 0);
    let moved = Org { time_zone: "Asia/Tokyo".into(), ..stored.clone() };
    store.org(org).update_org(moved.clone()).await.unwrap();
    assert_eq!(due_now().await, 1);
    assert!(due(store).await.stored.decided_until > past, "what was not due is not missed");

    look(Some(past)).await;
    let archived = Org { archived: true, ..moved.clone() };
    store.org(org).update_org(archived).await.unwrap();
    assert_eq!(due(store).await.stored.decided_until, past);
    store.org(org).update_org(moved).await.unwrap();
    assert!(due(store).await.stored.decided_until > past);
}

/// O30: a schedule that cannot be read is told apart and put off, so that it holds up no other.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_schedule_that_cannot_be_read_is_put_off() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let (one, other) = (with_org(&store, 1).await, with_org(&store, 2).await);
        save(&store, one, schedule(OverlapPolicy::Skip)).await;
        save(&store, other, schedule(OverlapPolicy::Skip)).await;
        let broken = format!(
            "UPDATE workflow_schedules SET data = '{{}}', check_at = 1 WHERE org = {}",
            database.id_literal(1)
        );
        database.execute(&broken).await;
        let mut found = store.due_schedules(AT_LAST, 10).await.unwrap();
        assert_eq!(found.remove(1).unwrap().org, other);
        let unreadable = found.remove(0).unwrap_err();
        assert_eq!((unreadable.org, unreadable.name.as_str()), (one, "hourly"));
        store.org(one).postpone_schedule("hourly", LATER).await.unwrap();
        let first = store.due_schedules(AT_LAST, 1).await.unwrap().remove(0);
        assert_eq!(first.unwrap().org, other);
    }
}
