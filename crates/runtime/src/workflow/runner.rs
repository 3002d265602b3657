//! Claims workflows that are due, in any process, and runs them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use ostler_engine::tool::ToolSetError;
use ostler_store::{ClaimedWorkflow, StoreError, WorkflowAttempt};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::drive::WorkflowDriver;
use super::schedule::start_due_workflows;
use super::tools::StepTools;
use crate::assembly::Services;
use crate::outage_log::OutageLog;
use crate::run_error::RunError;

/// How many workflows of an org run at the same time, in all processes. A process has room
/// for more, which others can use.
const MAX_PER_ORG: u32 = 12;
/// How often schedules are looked at, at most.
const MIN_SCHEDULE_INTERVAL: Duration = Duration::from_millis(500);
/// The delay after a store failure.
const STORE_FAILURE_DELAY: Duration = Duration::from_millis(500);
/// The delay before a workflow that this version cannot read is claimed again.
const UNREADABLE_DELAY: Duration = Duration::from_secs(30);

/// Runs workflows. Cheap to clone.
#[derive(Clone)]
pub struct WorkflowRunner {
    services: Arc<Services>,
    tools: StepTools,
    outage: Arc<OutageLog>,
}

impl WorkflowRunner {
    /// Creates a runner that shares the services of a worker.
    pub fn new(services: Arc<Services>) -> Result<Self, ToolSetError> {
        let tools = StepTools::new()?;
        Ok(Self { services, tools, outage: Arc::default() })
    }

    /// Runs up to `concurrency` workflows at the same time, and starts those of schedules,
    /// until stopped; then waits for the running tasks.
    pub async fn run(&self, concurrency: usize, stop: watch::Receiver<bool>) {
        let schedules = self.start_scheduled(stop.clone());
        tokio::join!(self.run_claimed(concurrency, stop), schedules);
    }

    /// Starts workflows at the due times of their schedules, until stopped.
    async fn start_scheduled(&self, mut stop: watch::Receiver<bool>) {
        let deps = &self.services.deps;
        let interval = deps.settings.poll_interval.max(MIN_SCHEDULE_INTERVAL);
        while !*stop.borrow() {
            if let Err(error) = start_due_workflows(&deps.store, &deps.clock).await {
                tracing::warn!(%error, "workflows of schedules not started, will retry");
            }
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
    }

    async fn run_claimed(&self, concurrency: usize, mut stop: watch::Receiver<bool>) {
        let mut running = JoinSet::new();
        while !*stop.borrow() {
            while running.try_join_next().is_some() {}
            let mut wait = self.services.deps.settings.poll_interval;
            if running.len() < concurrency.max(1) {
                match self.claim().await {
                    Ok(Some(claimed)) => {
                        let (runner, stop) = (self.clone(), stop.clone());
                        running.spawn(async move { runner.drive(claimed, stop).await });
                        continue;
                    }
                    Ok(None) => {}
                    Err(error) => {
                        if self.outage.record_failure() {
                            tracing::warn!(%error, "workflows cannot be claimed, will retry");
                        }
                        wait = STORE_FAILURE_DELAY;
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                Some(_) = running.join_next(), if !running.is_empty() => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        while running.join_next().await.is_some() {}
    }

    /// Runs the next due workflow as far as possible. Returns `false` if none
    /// is due.
    pub async fn run_next(&self) -> Result<bool, StoreError> {
        let Some(claimed) = self.claim().await? else { return Ok(false) };
        let (_stop, stopped) = watch::channel(false);
        self.drive(claimed, stopped).await;
        Ok(true)
    }

    async fn claim(&self) -> Result<Option<ClaimedWorkflow>, StoreError> {
        let deps = &self.services.deps;
        let lease = deps.settings.claims.lease;
        let claimed = deps.store.claim_workflow(lease, MAX_PER_ORG).await?;
        if self.outage.record_success() {
            tracing::warn!("workflows can be claimed again");
        }
        Ok(claimed)
    }

    /// Runs a workflow. A panic only fails this attempt.
    async fn drive(&self, claimed: ClaimedWorkflow, stop: watch::Receiver<bool>) {
        let lease = claimed.lease;
        let (services, tools) = (self.services.clone(), self.tools.clone());
        let drive = WorkflowDriver { services, tools, lease, stop };
        let driven = AssertUnwindSafe(Box::pin(drive.run(claimed))).catch_unwind().await;
        let Err(error) = driven.unwrap_or(Err(RunError::Panicked)) else { return };
        tracing::warn!(%error, workflow = %lease.workflow(), "workflow attempt failed");
        let retry_after = self.services.deps.settings.retry_after;
        let (recheck_in, attempt) = match &error {
            RunError::Store(StoreError::StaleLease) => return,
            // A newer version may be able to read it.
            RunError::Unreadable(_) | RunError::Store(StoreError::CorruptValue { .. }) => {
                (UNREADABLE_DELAY, WorkflowAttempt::Uncounted)
            }
            // It fails again, until its tasks are given up.
            RunError::Store(StoreError::TooLarge { .. }) => (retry_after, WorkflowAttempt::Counted),
            RunError::Store(_) => (retry_after, WorkflowAttempt::Uncounted),
            RunError::Panicked | RunError::Outdated(_) => (retry_after, WorkflowAttempt::Counted),
        };
        let store = &self.services.deps.store;
        if let Err(error) = store.release_workflow(lease, recheck_in, attempt).await {
            tracing::warn!(%error, workflow = %lease.workflow(), "workflow lease not released, it will expire");
        }
    }
}

impl std::fmt::Debug for WorkflowRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkflowRunner")
    }
}
