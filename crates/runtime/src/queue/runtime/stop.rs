//! Agents going. A stop that is cancelled goes on by itself; what was not begun
//! stays in the queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use ostler_bus::Failure;
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::AgentName;

use super::{AgentRuntime, Entry, Inner};
use crate::queue::error::Result;
use crate::queue::harness::Harness;
use crate::queue::spec::Stay;

/// Why an agent goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parting {
    /// It is stopped, and leaves its teams.
    Stopped,
    /// Its process ends; it comes back to its teams with the next.
    Shutdown,
}

impl AgentRuntime {
    /// Stops an agent: it counts as away, takes nothing more, and what it had
    /// in work is done when this returns. False if it does not run here.
    pub async fn stop(&self, name: &AgentName) -> Result<bool> {
        let (runtime, name) = (self.clone(), name.clone());
        Self::to_its_end(async move {
            if let Some(harness) = runtime.harness(&name) {
                runtime.retire(&harness, Parting::Stopped).await?;
                return Ok(true);
            }
            let hosted = runtime.stop_hosted(&name).await?;
            if !hosted {
                tracing::warn!(agent = %name, "an agent that does not run here was to be stopped");
            }
            Ok(hosted)
        })
        .await
    }

    /// Stops an agent without waiting for it.
    pub(in crate::queue) fn stop_later(&self, harness: &Arc<Harness>) {
        let (runtime, name) = (self.clone(), harness.spec.name.clone());
        tokio::spawn(async move {
            if let Err(error) = runtime.stop(&name).await {
                tracing::warn!(agent = %name, %error, "an agent was not stopped as it should be");
            }
        });
    }

    /// Stops all agents side by side, and returns when what they had in work is
    /// done. Nothing can be started afterwards. The bus stays.
    pub async fn shutdown(&self) -> Result<()> {
        let runtime = self.clone();
        Self::to_its_end(async move {
            runtime.0.stopped.store(true, Ordering::SeqCst);
            runtime.0.host.close().await;
            let mut result = Ok(());
            loop {
                let changed = runtime.0.changed.notified();
                let all = runtime.harnesses();
                if all.is_empty() {
                    if runtime.agents().is_empty() {
                        return result;
                    }
                    changed.await;
                }
                let parting = all.iter().map(|one| runtime.retire(one, Parting::Shutdown));
                let parted: Result<()> = join_all(parting).await.into_iter().collect();
                result = result.and(parted);
            }
        })
        .await
    }

    /// Takes an agent out of work. It does no harm to do it twice.
    pub(super) async fn retire(&self, harness: &Arc<Harness>, parting: Parting) -> Result<()> {
        let name = &harness.spec.name;
        let withdrawn = self.0.registry.withdraw(name).await;
        if parting == Parting::Stopped {
            self.leave_teams(harness).await;
        }
        harness.close().await;
        let ended = match harness.spec.stay {
            Stay::Ephemeral => self.remove_traces(harness).await,
            Stay::LongStanding => Ok(()),
        };
        // Last, so that the next of its name finds nothing half removed.
        self.forget_running(harness);
        withdrawn.and(ended)
    }

    /// Removes the record and the queue of an agent that does not come back.
    /// What nobody handled is a dead letter.
    async fn remove_traces(&self, harness: &Harness) -> Result<()> {
        self.0.registry.remove(&harness.spec.name).await?;
        self.0.routes.forget(&harness.spec.name);
        let reason = "the agent was stopped, and does not come back".to_owned();
        let why = Failure { class: FailureClass::Infrastructure, reason };
        if !self.0.bus.remove(&harness.queue, why).await? {
            tracing::warn!(agent = %harness.spec.name, "the queue of a stopped agent stays");
        }
        Ok(())
    }

    pub(super) fn forget_running(&self, harness: &Arc<Harness>) {
        let mut agents = self.agents();
        let name = &harness.spec.name;
        if let Some(Entry::Running(running)) = agents.get(name)
            && Arc::ptr_eq(running, harness)
        {
            agents.remove(name);
        }
        drop(agents);
        self.0.changed.notify_waiters();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let agents = self.agents.get_mut();
        for entry in agents.unwrap_or_else(std::sync::PoisonError::into_inner).values() {
            if let Entry::Running(harness) = entry {
                harness.abandon();
            }
        }
    }
}
