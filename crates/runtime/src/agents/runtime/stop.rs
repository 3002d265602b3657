//! Stops agents.
//!
//! A stop runs in a task of its own and completes even if its caller is
//! cancelled. Messages that were not started stay in the queue. Stopping an
//! ephemeral agent also deletes its record and its queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use ostler_bus::{Failure, now};
use ostler_domain::queue_agent::authority::{AuthorityClaim, AuthorityTier, ClaimedActions};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;

use super::{AgentRuntime, AgentSlot, Inner};
use crate::agents::coordination::{CoordinationMessage, ShutdownRequest};
use crate::agents::error::Result;
use crate::agents::harness::QueueAgentHarness;
use crate::agents::spec::RecordLifetime;

/// Why an agent stops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// Stopped by request; it leaves its teams.
    Stopped,
    /// The process ends; it returns to its teams when it is started again.
    Shutdown,
}

impl AgentRuntime {
    /// Stops an agent: it becomes unavailable and takes no more messages.
    /// Returns when its messages in progress are done, or `false` if it is
    /// neither running here nor hosted.
    pub async fn stop(&self, name: &AgentName) -> Result<bool> {
        let (runtime, name) = (self.clone(), name.clone());
        Self::run_to_completion(async move {
            if let Some(harness) = runtime.harness(&name) {
                runtime.stop_agent(&harness, StopReason::Stopped).await?;
                return Ok(true);
            }
            let hosted = runtime.stop_hosted(&name).await?;
            if !hosted {
                tracing::warn!(agent = %name, "agent not stopped: it is not running here");
            }
            Ok(hosted)
        })
        .await
    }

    /// Asks a pinned agent to stop, in whatever process it runs, on behalf of a person.
    pub(crate) async fn request_stop(&self, name: &AgentName, reason: &str) -> Result<()> {
        let request = ShutdownRequest { reason: reason.to_owned() };
        let mut request = request.envelope(self.new_reference_code().await?);
        request.claims = [AuthorityClaim {
            granted_by: name.clone(),
            granted_to: name.clone(),
            tier: AuthorityTier::JustDoIt,
            actions: ClaimedActions::Only([request.message.kind.as_str().to_owned()].into()),
            granted_at: now(),
            expires_at: None,
        }]
        .into_iter()
        .collect();
        self.send(name, request).await
    }

    /// Stops an agent in the background.
    pub(in crate::agents) fn stop_later(&self, harness: &Arc<QueueAgentHarness>) {
        let (runtime, name) = (self.clone(), harness.spec.name.clone());
        tokio::spawn(async move {
            if let Err(error) = runtime.stop(&name).await {
                tracing::warn!(agent = %name, %error, "agent not stopped cleanly");
            }
        });
    }

    /// Stops all agents concurrently and returns when their messages in
    /// progress are done. No agent can be started afterwards. The bus stays
    /// open.
    pub async fn shutdown(&self) -> Result<()> {
        let runtime = self.clone();
        Self::run_to_completion(async move {
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
                let reason =
                    all.iter().map(|harness| runtime.stop_agent(harness, StopReason::Shutdown));
                let stopped: Result<()> = join_all(reason).await.into_iter().collect();
                result = result.and(stopped);
            }
        })
        .await
    }

    /// Stops an agent. May be called twice.
    pub(super) async fn stop_agent(
        &self,
        harness: &Arc<QueueAgentHarness>,
        reason: StopReason,
    ) -> Result<()> {
        let name = &harness.spec.name;
        let withdrawn = self.0.registry.withdraw(name).await;
        if reason == StopReason::Stopped {
            self.leave_teams(harness).await;
        }
        harness.close().await;
        let ended = match harness.spec.lifetime {
            RecordLifetime::Ephemeral => self.delete_record_and_queue(harness).await,
            RecordLifetime::Permanent => Ok(()),
        };
        // Last, so that a new agent of this name finds nothing half removed.
        self.remove_running(harness);
        withdrawn.and(ended)
    }

    /// Deletes the record and the queue of an ephemeral agent. Waiting messages
    /// become dead letters.
    async fn delete_record_and_queue(&self, harness: &QueueAgentHarness) -> Result<()> {
        self.0.registry.remove(&harness.spec.name).await?;
        self.0.routes.forget(&harness.spec.name);
        let reason = "the agent was stopped and its queue deleted".to_owned();
        let why = Failure { class: FailureClass::Infrastructure, reason };
        if !self.0.bus.delete_queue(&harness.queue, why).await? {
            tracing::warn!(agent = %harness.spec.name, "queue of the stopped agent not deleted");
        }
        Ok(())
    }

    pub(super) fn remove_running(&self, harness: &Arc<QueueAgentHarness>) {
        let mut agents = self.agents();
        let name = &harness.spec.name;
        if let Some(AgentSlot::Running(running)) = agents.get(name)
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
            if let AgentSlot::Running(harness) = entry {
                harness.abandon();
            }
        }
    }
}
