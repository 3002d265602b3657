//! Workflow leases, commits, signals and events.

use std::num::NonZeroU32;
use std::time::Duration;

use ostler_domain::id::{EventId, OrgId, RecordId, WorkflowId};
use ostler_domain::org::Org;
use ostler_domain::workflow::EventName;
use ostler_store::{
    ClaimedWorkflow, NewWorkflow, PruneMode, PruneOptions, PublishOutcome, RecordChange, Store,
    StoreError, StoredTask, WorkflowAnswer, WorkflowCommit, WorkflowLease, WorkflowLeaseAction,
    WorkflowWait,
};
use tokio::task::JoinSet;

use crate::on_every_backend;
use crate::support::{self, TestDatabase, next, with_org};

const LONG: Duration = Duration::from_secs(60);

async fn start(store: &Store, org: OrgId) -> WorkflowId {
    let id = WorkflowId::from_u128(next());
    let new = NewWorkflow {
        id,
        name: "test".into(),
        definition: "{}".into(),
        input: "{}".into(),
        state: "0".into(),
        parent: None,
    };
    store.org(org).start_workflow(new).await.unwrap();
    id
}

async fn claim(store: &Store) -> Option<ClaimedWorkflow> {
    store.claim_workflow(LONG, 1000).await.unwrap()
}

fn commit(lease: WorkflowLease, state: &str, then: WorkflowLeaseAction) -> WorkflowCommit {
    WorkflowCommit {
        audit: vec![],
        lease,
        status: "running".into(),
        state: state.into(),
        spent: 0,
        tasks: Vec::new(),
        consumed_answers: Vec::new(),
        waits: Vec::new(),
        ended_waits: vec![],
        events: vec![],
        clear_waits: false,
        changes: Vec::new(),
        charges: Vec::new(),
        notices: Vec::new(),
        children: vec![],
        cancel_children: false,
        ended: None,
        lease_ttl: LONG,
        lease_action: then,
    }
}

fn answer(text: &str) -> WorkflowAnswer {
    WorkflowAnswer { task: "a".into(), question: "q".into(), data: text.into() }
}

fn paid() -> EventName {
    "paid".parse().unwrap()
}

fn wait(task: &str) -> WorkflowWait {
    WorkflowWait { task: task.into(), event: paid(), question: "event".into() }
}

fn release(seen_signals: i64) -> WorkflowLeaseAction {
    WorkflowLeaseAction::Release { seen_signals, recheck_in: None }
}

fn event() -> EventId {
    EventId::from_u128(next())
}

on_every_backend!(
    /// X54: only one worker holds a workflow's lease; a worker that lost it cannot
    /// commit.
    x54_a_workflow_has_one_lease_holder_at_a_time
);
async fn x54_a_workflow_has_one_lease_holder_at_a_time(store: &Store) {
    let org = with_org(store, 1).await;
    let id = start(store, org).await;
    let mut looking = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        looking.spawn(async move { store.claim_workflow(Duration::ZERO, 1000).await.unwrap() });
    }
    // Their leases expire at once, so several may have held it one after another.
    let had: Vec<ClaimedWorkflow> = looking.join_all().await.into_iter().flatten().collect();
    let last = claim(store).await.unwrap();
    assert_eq!(last.workflow.id, id);
    assert_eq!(last.attempts as usize, had.len() + 1);
    assert_eq!(claim(store).await, None);
    for lost in had {
        let refused =
            store.commit_workflow(commit(lost.lease, "stale", WorkflowLeaseAction::Keep)).await;
        assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
        let refused = store.renew_workflow_lease(lost.lease, LONG).await;
        assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
        let refused = store.checkpoint_workflow_task(lost.lease, "a", "{}".into(), &[], LONG).await;
        assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
    }
    store.commit_workflow(commit(last.lease, "1", WorkflowLeaseAction::Keep)).await.unwrap();
    let (stored, tasks) = store.org(org).workflow(id).await.unwrap();
    assert_eq!((stored.state.as_str(), tasks.len()), ("1", 0));
}

on_every_backend!(
    /// X54: task results, the workflow's state and the record changes of tools are
    /// committed together or not at all.
    x54_task_results_state_and_changes_are_one_commit
);
async fn x54_task_results_state_and_changes_are_one_commit(store: &Store) {
    let org = with_org(store, 1).await;
    let id = start(store, org).await;
    let claimed = claim(store).await.unwrap();
    let task = |result: Option<&str>, saved: Option<&str>| StoredTask {
        task: "a".into(),
        result: result.map(Into::into),
        checkpoint: saved.map(Into::into),
        record: None,
    };
    let record = RecordId::from_u128(next());
    let change = RecordChange::CreateRecord { kind: "note".into(), id: record, data: "{}".into() };
    let begun = WorkflowCommit {
        tasks: vec![task(None, Some("turn"))],
        changes: vec![change.clone()],
        ..commit(claimed.lease, "1", WorkflowLeaseAction::Keep)
    };
    store.commit_workflow(begun).await.unwrap();
    let twice = WorkflowCommit {
        tasks: vec![task(Some("done"), None)],
        changes: vec![change],
        ..commit(claimed.lease, "2", WorkflowLeaseAction::Keep)
    };
    let refused = store.commit_workflow(twice).await;
    assert!(matches!(refused, Err(StoreError::StaleChanges(_))), "{refused:?}");
    let (stored, tasks) = store.org(org).workflow(id).await.unwrap();
    assert_eq!((stored.state.as_str(), tasks), ("1", vec![task(None, Some("turn"))]));
    let done = WorkflowCommit {
        status: "done".into(),
        tasks: vec![task(Some("done"), None)],
        ..commit(claimed.lease, "3", WorkflowLeaseAction::End)
    };
    store.commit_workflow(done).await.unwrap();
    assert_eq!(claim(store).await, None);
    let (stored, tasks) = store.org(org).workflow(id).await.unwrap();
    assert_eq!((stored.status.as_str(), tasks), ("done", vec![task(Some("done"), None)]));
}

on_every_backend!(
    /// Z01: an answer is accepted once, is received by the next worker, and is gone
    /// once a step has consumed it.
    z01_an_answer_is_received_once
);
async fn z01_an_answer_is_received_once(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = start(store, org).await;
    let theirs = store.org(other).answer_workflow(id, answer("1")).await;
    assert!(matches!(theirs, Err(StoreError::NotFound(_))), "{theirs:?}");
    let claimed = claim(store).await.unwrap();
    // An answer that arrives while the worker releases the lease is not lost.
    store.org(org).answer_workflow(id, answer("1")).await.unwrap();
    let again = store.org(org).answer_workflow(id, answer("2")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    assert_eq!(claim(store).await, None, "somebody has it");
    let known = claimed.signals.count;
    store.commit_workflow(commit(claimed.lease, "1", release(known))).await.unwrap();
    let claimed = claim(store).await.unwrap();
    assert_eq!(claimed.signals.answers, [answer("1")]);
    let taken = WorkflowCommit {
        consumed_answers: vec![("a".into(), "q".into())],
        ..commit(claimed.lease, "2", WorkflowLeaseAction::Keep)
    };
    store.commit_workflow(taken).await.unwrap();
    let signals = store.renew_workflow_lease(claimed.lease, LONG).await.unwrap();
    assert_eq!(signals.answers, []);
    let again = store.org(org).answer_workflow(id, answer("3")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
}

on_every_backend!(a_cancelled_workflow_is_claimed_and_ends);
async fn a_cancelled_workflow_is_claimed_and_ends(store: &Store) {
    let org = with_org(store, 1).await;
    let id = start(store, org).await;
    let claimed = claim(store).await.unwrap();
    store.commit_workflow(commit(claimed.lease, "1", release(0))).await.unwrap();
    assert_eq!(claim(store).await, None);
    assert!(store.org(org).cancel_workflow(id).await.unwrap());
    assert!(!store.org(org).cancel_workflow(id).await.unwrap());
    let claimed = claim(store).await.unwrap();
    assert!(claimed.signals.cancelled);
    let nobody = store.org(org).cancel_workflow(WorkflowId::from_u128(next())).await;
    assert!(matches!(nobody, Err(StoreError::NotFound("workflow"))), "{nobody:?}");
}

/// Old finished workflows are pruned with all their rows; waiting ones are kept
/// however old they are.
#[tokio::test(flavor = "multi_thread")]
async fn old_finished_workflows_are_pruned_with_their_rows() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = OrgId::from_u128(1);
        let keeps = Org { retention_days: NonZeroU32::new(30), ..support::org(1) };
        store.create_org(keeps).await.unwrap();
        store.org(org).publish_event(event(), paid(), "7".into()).await.unwrap();
        for status in ["done", "waiting"] {
            start(&store, org).await;
            let claimed = claim(&store).await.unwrap();
            let task = StoredTask { task: "a".into(), ..StoredTask::default() };
            let then = if status == "done" { WorkflowLeaseAction::End } else { release(0) };
            let commit = WorkflowCommit {
                status: status.into(),
                tasks: vec![task],
                waits: vec![wait("a")],
                ..commit(claimed.lease, "1", then)
            };
            store.commit_workflow(commit).await.unwrap();
        }
        store.org(org).publish_event(event(), "other".parse().unwrap(), "8".into()).await.unwrap();
        let old =
            "UPDATE workflows SET updated_at = 0; UPDATE workflow_events SET published_at = 0";
        backend.execute(old).await;
        let limits = PruneOptions { batch_size: 10, mode: PruneMode::Delete };
        let pruned = store.prune(limits, |_| ()).await.unwrap();
        assert_eq!((pruned[0].workflows, pruned[0].signals), (1, 1));
        for (table, left) in [
            ("workflows", 1),
            ("workflow_tasks", 1),
            ("workflow_answers", 0),
            ("workflow_waits", 1),
            ("workflow_events", 0),
        ] {
            assert_eq!(backend.count(table).await, left, "{table}");
        }
    }
}

on_every_backend!(
    /// X69: an event is delivered to one waiting step, once; without one it is
    /// stored for the first step that waits for it.
    x69_an_event_is_delivered_to_one_waiting_step_once
);
async fn x69_an_event_is_delivered_to_one_waiting_step_once(store: &Store) {
    let org = with_org(store, 1).await;
    let early = event();
    let publish = async |id| store.org(org).publish_event(id, paid(), "7".into()).await.unwrap();
    assert_eq!(publish(early).await, PublishOutcome::Stored);
    assert_eq!(publish(early).await, PublishOutcome::Duplicate);
    let id = start(store, org).await;
    let claimed = claim(store).await.unwrap();
    let waiting = WorkflowCommit {
        waits: vec![wait("a"), wait("b")],
        ..commit(claimed.lease, "1", release(claimed.signals.count))
    };
    store.commit_workflow(waiting).await.unwrap();
    let claimed_again = claim(store).await.unwrap();
    let reached = |task: &str| WorkflowAnswer {
        task: task.into(),
        question: "event".into(),
        data: "7".into(),
    };
    assert_eq!(claimed_again.signals.answers, [reached("a")]);
    store
        .commit_workflow(commit(claimed_again.lease, "2", release(claimed_again.signals.count)))
        .await
        .unwrap();
    let late = event();
    let found = publish(late).await;
    assert_eq!(found, PublishOutcome::Delivered { workflow: id, task: "b".into() });
    assert_eq!(publish(late).await, PublishOutcome::Duplicate);
    let claimed_again = claim(store).await.unwrap();
    assert_eq!(claimed_again.signals.answers, [reached("a"), reached("b")]);
}

on_every_backend!(
    /// X69: an event published while a step begins to wait for it is delivered,
    /// however often that is tried.
    x69_concurrent_publish_and_wait_always_meet
);
async fn x69_concurrent_publish_and_wait_always_meet(store: &Store) {
    let org = with_org(store, 1).await;
    let rounds = 20;
    for _ in 0..rounds {
        start(store, org).await;
        let claimed = claim(store).await.unwrap();
        let waits = vec![wait("a")];
        let waiting = WorkflowCommit { waits, ..commit(claimed.lease, "1", release(0)) };
        let (here, there) = (store.clone(), store.clone());
        let publishing = tokio::spawn(async move {
            here.org(org).publish_event(event(), paid(), "7".into()).await.unwrap()
        });
        let begins = tokio::spawn(async move { there.commit_workflow(waiting).await.unwrap() });
        publishing.await.unwrap();
        begins.await.unwrap();
        let claimed = claim(store).await.expect("it was reached");
        assert_eq!(claimed.signals.answers.len(), 1);
        let over = WorkflowCommit {
            status: "done".into(),
            ..commit(claimed.lease, "2", WorkflowLeaseAction::End)
        };
        store.commit_workflow(over).await.unwrap();
    }
}

on_every_backend!(
    /// O30: an org with many workflows does not delay another, and has a limit.
    o30_workflows_are_claimed_fairly_among_orgs
);
async fn o30_workflows_are_claimed_fairly_among_orgs(store: &Store) {
    let (busy, quiet) = (with_org(store, 1).await, with_org(store, 2).await);
    for _ in 0..6 {
        start(store, busy).await;
    }
    let claim = async || store.claim_workflow(LONG, 3).await.unwrap();
    let first = claim().await.unwrap();
    assert_eq!(first.lease.org(), busy);
    start(store, quiet).await;
    assert_eq!(claim().await.unwrap().lease.org(), quiet, "it has no lease yet");
    for _ in 0..2 {
        assert_eq!(claim().await.unwrap().lease.org(), busy);
    }
    assert!(claim().await.is_none(), "three of an org run at the same time");
    store.commit_workflow(commit(first.lease, "1", WorkflowLeaseAction::End)).await.unwrap();
    assert_eq!(claim().await.unwrap().lease.org(), busy);
}
