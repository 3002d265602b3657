//! Delegated work: dependencies and deadlines.

use std::time::Duration;

use ostler_bus::now;
use ostler_domain::queue_agent::delegation::{DelegationRefused, DelegationStatus};
use ostler_domain::queue_agent::sla::{SlaAction, SlaPolicy};
use ostler_runtime::agents::coordination::{CoordinationMessage, SlaNotice, TaskAssigned};
use ostler_runtime::agents::{Page, QueueError, RuntimeOptions, TaskAssignment};

use crate::kit::{Backend, eventually, on_every_bus};
use crate::support::{Probe, name, say, spec};

on_every_bus!(x40_x61_work_becomes_ready_when_its_blockers_are_complete);
/// X40, X61: the assignment has a code of its own and the root's code; a cycle
/// is refused.
async fn x40_x61_work_becomes_ready_when_its_blockers_are_complete(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::silent();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    let request = say(77);
    let part =
        |what: &str| TaskAssignment::new(name("boss"), name("worker"), what).part_of(&request);
    let first = runtime.delegate(part("first")).await.unwrap();
    let second = runtime.delegate(part("second")).await.unwrap();
    let blocked_by = [first.id, second.id].into();
    let third = TaskAssignment { blocked_by, ..part("third") };
    let third = runtime.delegate(third).await.unwrap();
    worker.wait_for(2).await;
    let blocked = runtime.blocked_delegations(Page::default()).await.unwrap();
    assert_eq!(blocked.iter().map(|work| work.id).collect::<Vec<_>>(), [third.id]);
    let circle = runtime.delegations().block(first.id, third.id).await;
    let cycle = |error| matches!(error, QueueError::Delegation(DelegationRefused::Cycle { .. }));
    assert!(circle.is_err_and(cycle));
    let early = runtime.update_delegation(third.id, DelegationStatus::InProgress).await;
    let waits = |error| matches!(error, QueueError::Delegation(DelegationRefused::Blocked(_)));
    assert!(early.is_err_and(waits));
    for work in [&first, &second] {
        assert_eq!(worker.seen().len(), 2);
        runtime.update_delegation(work.id, DelegationStatus::InProgress).await.unwrap();
        runtime.update_delegation(work.id, DelegationStatus::Complete).await.unwrap();
    }
    let seen = worker.wait_for(3).await;
    let assigned = TaskAssigned::decode(&seen[2]).unwrap().work;
    assert_eq!(assigned.id, third.id);
    let codes: Vec<_> = seen.iter().map(|one| one.reference).collect();
    assert_eq!(codes, [first.reference, second.reference, third.reference]);
    assert!(codes.iter().all(|code| *code != request.reference));
    let roots: Vec<_> = seen.iter().map(|one| one.context.root_reference).collect();
    assert_eq!(roots, [Some(request.reference); 3]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x59_overdue_work_is_alerted_retried_and_escalated);
/// X59: one alert at the deadline, three retries under the same message id, one
/// escalation, and then nothing; finished work causes none of these.
async fn x59_overdue_work_is_alerted_retried_and_escalated(backend: &Backend) {
    let timeout = Duration::from_secs(60);
    let options = RuntimeOptions {
        sla: SlaPolicy { retries: 3, retry_interval: timeout },
        escalate_to: Some(name("person")),
        supervision_interval: Duration::from_secs(3600),
        ..RuntimeOptions::default()
    };
    let runtime = backend.builder().await.options(options).start().await.unwrap();
    let (boss, worker, person) = (Probe::silent(), Probe::silent(), Probe::silent());
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    runtime.start(spec("person"), person.clone()).await.unwrap();
    let deadline = now() + timeout;
    let work = |what: &str| {
        let assignment = TaskAssignment::new(name("boss"), name("worker"), what);
        TaskAssignment { due: Some(deadline), ..assignment }
    };
    let late = runtime.delegate(work("late")).await.unwrap();
    let done = runtime.delegate(work("done")).await.unwrap();
    for status in [DelegationStatus::InProgress, DelegationStatus::Complete] {
        runtime.update_delegation(done.id, status).await.unwrap();
    }
    let mut time = deadline;
    for _ in 0..9 {
        runtime.supervise_once(time).await.unwrap();
        time = time + timeout;
    }
    worker.wait_for(5).await;
    person.wait_for(1).await;
    boss.wait_for(1).await;
    eventually("it to be overdue", async || {
        let late = runtime.delegations().get(late.id).await.unwrap().unwrap();
        late.status == DelegationStatus::Overdue
    })
    .await;
    runtime.shutdown().await.unwrap();
    let alerts: Vec<_> =
        boss.seen().iter().map(|one| SlaNotice::decode(one).unwrap().action).collect();
    assert_eq!(alerts, [SlaAction::Alert]);
    let ids: Vec<_> = worker.seen().iter().map(|one| one.message.id.as_u128()).collect();
    let (late, done) = (late.id.as_u128(), done.id.as_u128());
    assert_eq!(ids, [late, done, late, late, late]);
    let actions: Vec<_> =
        person.seen().iter().map(|one| SlaNotice::decode(one).unwrap().action).collect();
    assert_eq!(actions, [SlaAction::Escalate]);
}
