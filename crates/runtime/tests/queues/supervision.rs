//! Delegated work: what waits for what, and what is late.

use std::time::Duration;

use ostler_bus::now;
use ostler_domain::dispatch::delegation::{DelegationRefused, DelegationStatus};
use ostler_domain::dispatch::sla::{SlaAction, SlaPolicy};
use ostler_runtime::queue::coordination::{Assigned, Coordination, Sla};
use ostler_runtime::queue::{Assignment, Page, QueueError, RuntimeOptions};

use crate::kit::{Backend, eventually, on_every_bus};
use crate::world::{Probe, name, say, spec};

on_every_bus!(x40_x61_work_becomes_ready_when_all_before_it_is_done);
/// X40, X61: work is assigned when all its blockers are complete, under a code
/// of its own with the root's beside it; a circle is refused.
async fn x40_x61_work_becomes_ready_when_all_before_it_is_done(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::quiet();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    let request = say(77);
    let part = |what: &str| Assignment::new(name("boss"), name("worker"), what).part_of(&request);
    let first = runtime.delegate(part("first")).await.unwrap();
    let second = runtime.delegate(part("second")).await.unwrap();
    let blocked_by = [first.id, second.id].into();
    let third = Assignment { blocked_by, ..part("third") };
    let third = runtime.delegate(third).await.unwrap();
    worker.until(2).await;
    let blocked = runtime.blocked(Page::default()).await.unwrap();
    assert_eq!(blocked.iter().map(|work| work.id).collect::<Vec<_>>(), [third.id]);
    let circle = runtime.delegations().block(first.id, third.id).await;
    let cycle = |error| matches!(error, QueueError::Delegation(DelegationRefused::Cycle { .. }));
    assert!(circle.is_err_and(cycle));
    let early = runtime.progress(third.id, DelegationStatus::InProgress).await;
    let waits = |error| matches!(error, QueueError::Delegation(DelegationRefused::Blocked(_)));
    assert!(early.is_err_and(waits));
    for work in [&first, &second] {
        assert_eq!(worker.seen().len(), 2);
        runtime.progress(work.id, DelegationStatus::InProgress).await.unwrap();
        runtime.progress(work.id, DelegationStatus::Complete).await.unwrap();
    }
    let seen = worker.until(3).await;
    let assigned = Assigned::read(&seen[2]).unwrap().work;
    assert_eq!(assigned.id, third.id);
    let codes: Vec<_> = seen.iter().map(|one| one.reference).collect();
    assert_eq!(codes, [first.reference, second.reference, third.reference]);
    assert!(codes.iter().all(|code| *code != request.reference));
    let roots: Vec<_> = seen.iter().map(|one| one.context.root_reference).collect();
    assert_eq!(roots, [Some(request.reference); 3]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x59_late_work_is_alerted_retried_and_escalated);
/// X59: one alert at the deadline, three retries under the same message id, one
/// escalation, and then nothing; finished work makes no noise.
async fn x59_late_work_is_alerted_retried_and_escalated(backend: &Backend) {
    let patience = Duration::from_secs(60);
    let options = RuntimeOptions {
        sla: SlaPolicy { retries: 3, patience },
        escalate_to: Some(name("person")),
        tick: Duration::from_secs(3600),
        ..RuntimeOptions::default()
    };
    let runtime = backend.builder().await.options(options).start().await.unwrap();
    let (boss, worker, person) = (Probe::quiet(), Probe::quiet(), Probe::quiet());
    runtime.start(spec("boss"), boss.clone()).await.unwrap();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    runtime.start(spec("person"), person.clone()).await.unwrap();
    let deadline = now() + patience;
    let work = |what: &str| {
        let assignment = Assignment::new(name("boss"), name("worker"), what);
        Assignment { due: Some(deadline), ..assignment }
    };
    let late = runtime.delegate(work("late")).await.unwrap();
    let done = runtime.delegate(work("done")).await.unwrap();
    for status in [DelegationStatus::InProgress, DelegationStatus::Complete] {
        runtime.progress(done.id, status).await.unwrap();
    }
    let mut time = deadline;
    for _ in 0..9 {
        runtime.tick(time).await.unwrap();
        time = time + patience;
    }
    worker.until(5).await;
    person.until(1).await;
    boss.until(1).await;
    eventually("it to be overdue", async || {
        let late = runtime.delegations().get(late.id).await.unwrap().unwrap();
        late.status == DelegationStatus::Overdue
    })
    .await;
    runtime.shutdown().await.unwrap();
    let alerts: Vec<_> = boss.seen().iter().map(|one| Sla::read(one).unwrap().action).collect();
    assert_eq!(alerts, [SlaAction::Alert]);
    let ids: Vec<_> = worker.seen().iter().map(|one| one.message.id.as_u128()).collect();
    let (late, done) = (late.id.as_u128(), done.id.as_u128());
    assert_eq!(ids, [late, done, late, late, late]);
    let told: Vec<_> = person.seen().iter().map(|one| Sla::read(one).unwrap().action).collect();
    assert_eq!(told, [SlaAction::Escalate]);
}
