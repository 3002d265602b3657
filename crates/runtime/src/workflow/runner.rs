//! Takes workflows up that somebody is to look at, in whatever process.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use ostler_engine::tool::BadTool;
use ostler_store::{ClaimedWorkflow, StoreError, Tried};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::drive::Drive;
use super::tools::{StepTools, of_steps};
use crate::inbound::case::Desk;
use crate::inbound::{RunError, Worker};
use crate::outage::Outage;

/// How long it waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_millis(500);
/// How long a workflow is left alone that this program cannot read.
const AFTER_UNREADABLE: Duration = Duration::from_secs(30);

/// Brings workflows on. Cheap to clone.
#[derive(Clone)]
pub struct Runner {
    desk: Arc<Desk>,
    tools: StepTools,
    outage: Arc<Outage>,
}

impl Runner {
    /// A runner with what a worker was made with.
    pub fn beside(worker: &Worker) -> Result<Self, BadTool> {
        let desk = worker.desk();
        let tools = of_steps(&desk.parts.tools)?;
        Ok(Self { desk, tools, outage: Arc::default() })
    }

    /// Has so many workflows in work at once until it is stopped; then finishes
    /// what its steps have begun.
    pub async fn run(&self, at_once: usize, mut stop: watch::Receiver<bool>) {
        let mut working = JoinSet::new();
        while !*stop.borrow() {
            while working.try_join_next().is_some() {}
            let mut wait = self.desk.parts.settings.look_every;
            if working.len() < at_once.max(1) {
                match self.claim().await {
                    Ok(Some(claimed)) => {
                        let (runner, stop) = (self.clone(), stop.clone());
                        working.spawn(async move { runner.drive(claimed, stop).await });
                        continue;
                    }
                    Ok(None) => {}
                    Err(error) => {
                        if self.outage.begins() {
                            tracing::warn!(%error, "no workflow can be taken up; it is tried again");
                        }
                        wait = AFTER_FAILURE;
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                Some(_) = working.join_next(), if !working.is_empty() => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        while working.join_next().await.is_some() {}
    }

    /// Brings one workflow as far as it comes; says whether there was one.
    pub async fn drive_next(&self) -> Result<bool, StoreError> {
        let Some(claimed) = self.claim().await? else { return Ok(false) };
        let (_stop, stopped) = watch::channel(false);
        self.drive(claimed, stopped).await;
        Ok(true)
    }

    async fn claim(&self) -> Result<Option<ClaimedWorkflow>, StoreError> {
        let parts = &self.desk.parts;
        let claimed = parts.store.claim_workflow(parts.settings.claims.lease).await?;
        if self.outage.ends() {
            tracing::warn!("workflows can be taken up again");
        }
        Ok(claimed)
    }

    /// What breaks down breaks one try and no runner.
    async fn drive(&self, claimed: ClaimedWorkflow, stop: watch::Receiver<bool>) {
        let lease = claimed.lease;
        let (desk, tools) = (self.desk.clone(), self.tools.clone());
        let drive = Drive { desk, tools, lease, stop };
        let driven = AssertUnwindSafe(Box::pin(drive.run(claimed))).catch_unwind().await;
        let Err(error) = driven.unwrap_or(Err(RunError::BrokeDown)) else { return };
        tracing::warn!(%error, workflow = %lease.workflow(), "a workflow did not come on");
        let retry_after = self.desk.parts.settings.retry_after;
        let (again_in, tried) = match &error {
            RunError::Store(StoreError::StaleLease) => return,
            // A newer program may know how.
            RunError::Unreadable(_) | RunError::Store(StoreError::Unreadable { .. }) => {
                (AFTER_UNREADABLE, Tried::No)
            }
            RunError::Store(_) => (retry_after, Tried::No),
            RunError::BrokeDown | RunError::Outdated(_) => (retry_after, Tried::Yes),
        };
        let store = &self.desk.parts.store;
        if let Err(error) = store.release_workflow(lease, again_in, tried).await {
            tracing::warn!(%error, "a workflow could not be given back; its lease will end");
        }
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Runner")
    }
}
