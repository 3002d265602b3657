//! Runs a workflow as far as possible: tasks run concurrently, and each result
//! is committed, with the state after it, before the tasks that depend on it
//! start.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::time::Timestamp;
use ostler_domain::workflow::{StepOutcome, Task};
use ostler_store::{ClaimedWorkflow, StoreError, WorkflowLease, WorkflowLeaseAction};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::control::apply_controls;
use super::instance::WorkflowInstance;
use super::job::StepJob;
use super::perform::{StepResult, perform};
use super::step_commit::StepCommit;
use super::tools::StepTools;
use crate::assembly::Services;
use crate::change_audit::{audit_changes, refund_notices};
use crate::run_error::RunError;

/// Maximum number of concurrent tasks per workflow.
const MAX_CONCURRENT_TASKS: usize = 16;
/// How often the changes of tools are computed again after a conflict.
const MAX_COMMIT_ATTEMPTS: u32 = 5;

/// The running tasks. Each runs as a separate tokio task: polled where the
/// workflow is committed, both could wait for a row that the other holds.
/// Dropping the set aborts them.
type RunningTasks = JoinSet<(Task, Result<StepResult, StoreError>)>;

/// Runs one claimed workflow.
pub(super) struct WorkflowDriver {
    pub(super) services: Arc<Services>,
    pub(super) tools: StepTools,
    pub(super) lease: WorkflowLease,
    pub(super) stop: watch::Receiver<bool>,
}

impl WorkflowDriver {
    /// Runs the workflow as far as possible and releases its lease.
    pub(super) async fn run(&self, claimed: ClaimedWorkflow) -> Result<(), RunError> {
        let mut instance = WorkflowInstance::read(&claimed)?;
        let mut started = instance.progress.running();
        if claimed.attempts > self.services.deps.settings.claims.max_attempts {
            fail_tasks(&mut instance, &started, self.now());
            started.clear();
        }
        let (mut running, mut finished) = (RunningTasks::new(), None);
        let mut next_poll = self.next_poll_at();
        loop {
            let busy = !running.is_empty() || !started.is_empty();
            let lease_action =
                self.commit_result(&mut instance, finished.take(), busy, &mut started).await?;
            if lease_action != WorkflowLeaseAction::Keep {
                return Ok(());
            }
            for task in started.drain(..) {
                if let Some(job) = StepJob::new(&instance, &task) {
                    self.spawn_task(&mut running, task, job);
                }
            }
            finished = self.wait_for_result(&mut running, next_poll).await?;
            if Instant::now() >= next_poll {
                self.renew_lease(&mut instance).await?;
                next_poll = self.next_poll_at();
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.services.deps.clock.now()
    }

    fn spawn_task(&self, running: &mut RunningTasks, task: Task, job: StepJob) {
        let (services, tools, lease) = (self.services.clone(), self.tools.clone(), self.lease);
        running.spawn(async move {
            let result = perform(&services, &tools, lease, job).await;
            (task, result)
        });
    }

    /// Adds the result of a task, starts the tasks that follow, and commits
    /// both. If the changes of tools conflict too often, the task fails.
    async fn commit_result(
        &self,
        instance: &mut WorkflowInstance,
        finished: Option<(Task, StepResult)>,
        busy: bool,
        started: &mut Vec<Task>,
    ) -> Result<WorkflowLeaseAction, RunError> {
        let Some((task, mut result)) = finished else {
            return Ok(self.commit(instance, StepCommit::default(), busy, started).await?);
        };
        let before = (instance.progress.clone(), instance.data.results.get(&task).cloned());
        let mut is_too_large = false;
        for _ in 0..MAX_COMMIT_ATTEMPTS {
            let mut commit = StepCommit::default();
            let effects = std::mem::take(&mut result.effects);
            if !effects.is_empty() {
                let planned =
                    (self.services.deps.plan_effects)(self.lease.org(), effects.clone()).await;
                match planned {
                    Ok(changes) => {
                        let store = self.services.deps.store.org(self.lease.org());
                        let origin = ("workflow", format!("{} {task}", self.lease.workflow()));
                        commit.audit =
                            audit_changes(store, AuditActor::System, origin, &changes).await?;
                        commit.notices = refund_notices(&changes);
                        commit.changes = changes;
                    }
                    Err(StoreError::StaleChanges(conflict)) => {
                        result.outcome =
                            StepOutcome::Failed { reason: conflict.to_string(), retryable: true };
                        result.output = None;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            commit.add_result(instance, &task, &result, self.now());
            match self.commit(instance, commit, busy, started).await {
                Err(StoreError::StaleChanges(_)) => {
                    instance.restore(&task, before.clone());
                    started.clear();
                    result.effects = effects;
                }
                // What it wants to store can never be stored.
                Err(error @ StoreError::TooLarge { .. }) if !is_too_large => {
                    is_too_large = true;
                    instance.restore(&task, before.clone());
                    started.clear();
                    result = result.into_failed(error.to_string());
                }
                result => return Ok(result?),
            }
        }
        let reason = "the records it changes were modified concurrently".to_owned();
        result.outcome = StepOutcome::Failed { reason, retryable: true };
        result.output = None;
        let mut commit = StepCommit::default();
        commit.add_result(instance, &task, &result, self.now());
        Ok(self.commit(instance, commit, busy, started).await?)
    }

    /// Starts ready tasks and commits the new state.
    async fn commit(
        &self,
        instance: &mut WorkflowInstance,
        mut commit: StepCommit,
        busy: bool,
        started: &mut Vec<Task>,
    ) -> Result<WorkflowLeaseAction, StoreError> {
        commit.add_controls(apply_controls(instance));
        started.extend(self.start_ready_tasks(instance));
        let lease_action = self.lease_action(instance, busy || !started.is_empty());
        let unchanged = lease_action == WorkflowLeaseAction::Keep && commit.is_empty();
        if unchanged && instance.committed == instance.progress {
            return Ok(lease_action);
        }
        commit.add_progress(self.lease, instance);
        let (waits, spent) = (commit.adds_waits(), commit.spent());
        let deps = &self.services.deps;
        let commit = commit.into_workflow_commit(
            self.lease,
            instance,
            deps.settings.claims.lease,
            lease_action,
        );
        crate::faults::point("before_step_commit");
        deps.store.commit_workflow(commit).await?;
        crate::faults::point("after_step_commit");
        instance.spent += spent;
        instance.committed = instance.progress.clone();
        if waits && lease_action == WorkflowLeaseAction::Keep {
            self.renew_lease(instance).await?;
        }
        Ok(lease_action)
    }

    /// Returns the tasks to start: those that were answered, and those with no
    /// open dependencies. Starts nothing while stopping.
    fn start_ready_tasks(&self, instance: &mut WorkflowInstance) -> Vec<Task> {
        if *self.stop.borrow() {
            return Vec::new();
        }
        if instance.signals.cancelled {
            instance.progress.cancel();
        }
        let capacity = MAX_CONCURRENT_TASKS.saturating_sub(instance.progress.running().len());
        let mut started = instance.answered_tasks();
        started.truncate(capacity);
        started.retain(|task| instance.progress.wake(task));
        let view = instance.data.view(&instance.definition);
        started.extend(instance.progress.advance(
            &instance.definition,
            &view,
            MAX_CONCURRENT_TASKS,
            self.now(),
        ));
        started
    }

    fn lease_action(&self, instance: &WorkflowInstance, busy: bool) -> WorkflowLeaseAction {
        if instance.progress.status().is_over() {
            return WorkflowLeaseAction::End;
        }
        if busy {
            return WorkflowLeaseAction::Keep;
        }
        let recheck_in = if *self.stop.borrow() {
            Some(Duration::ZERO)
        } else {
            instance.progress.next_deadline().map(|until| until.since(self.now()))
        };
        WorkflowLeaseAction::Release { seen_signals: instance.signals.count, recheck_in }
    }

    /// Waits for the result of a task, or until it is time to read signals and
    /// renew the lease.
    async fn wait_for_result(
        &self,
        running: &mut RunningTasks,
        next_poll: Instant,
    ) -> Result<Option<(Task, StepResult)>, RunError> {
        match tokio::time::timeout_at(next_poll, running.join_next()).await {
            Ok(Some(Ok((task, result)))) => Ok(Some((task, result?))),
            Ok(Some(Err(_))) => Err(RunError::Panicked),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    fn next_poll_at(&self) -> Instant {
        let settings = &self.services.deps.settings;
        let interval = settings.poll_interval.min(settings.claims.lease / 3);
        Instant::now() + interval.max(Duration::from_millis(10))
    }

    async fn renew_lease(&self, instance: &mut WorkflowInstance) -> Result<(), StoreError> {
        let deps = &self.services.deps;
        let lease_ttl = deps.settings.claims.lease;
        instance.signals = deps.store.renew_workflow_lease(self.lease, lease_ttl).await?;
        Ok(())
    }
}

/// Fails tasks that repeatedly ended their process, so that a workflow is not
/// claimed forever.
fn fail_tasks(instance: &mut WorkflowInstance, started: &[Task], now: Timestamp) {
    for task in started {
        let reason = "the process running it died repeatedly".to_owned();
        let outcome = StepOutcome::Failed { reason, retryable: false };
        let view = instance.data.view(&instance.definition);
        instance.progress.complete(&instance.definition, &view, task, outcome, now);
    }
}
