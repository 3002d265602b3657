//! Periodic supervision: renews the availability of agents, handles overdue
//! work and clears caches. Each alert, retry and escalation is given to one
//! process only.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use ostler_bus::{Envelope, now};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::sla::SlaAction;
use ostler_domain::time::Timestamp;

use super::{AgentRuntime, Inner};
use crate::agents::coordination::{CoordinationMessage, SlaNotice};
use crate::agents::delegations::SlaDue;
use crate::agents::error::Result;
use crate::agents::harness::QueueAgentHarness;
use crate::agents::page::MAX_PAGE_SIZE;
use crate::agents::registry::AgentPresence;
use crate::outage_log::OutageLog;

/// Supervises until the runtime is dropped.
pub(super) fn start(inner: &Arc<Inner>) {
    tokio::spawn(run(Arc::downgrade(inner), inner.options.supervision_interval));
}

async fn run(weak: Weak<Inner>, interval: std::time::Duration) {
    let outage = OutageLog::default();
    loop {
        tokio::time::sleep(interval).await;
        let Some(inner) = weak.upgrade() else { return };
        if inner.stopped.load(Ordering::SeqCst) {
            return;
        }
        match AgentRuntime(inner).supervise_once(now()).await {
            Err(error) if outage.record_failure() => {
                tracing::warn!(%error, "supervision round failed, will retry");
            }
            Ok(_) if outage.record_success() => tracing::warn!("supervision works again"),
            _ => {}
        }
    }
}

impl AgentRuntime {
    /// Runs one round of supervision. The runtime does this periodically.
    pub async fn supervise_once(&self, now: Timestamp) -> Result<()> {
        self.0.routes.forget_all();
        self.renew_presence(now).await?;
        self.handle_overdue_work(now).await
    }

    async fn renew_presence(&self, now: Timestamp) -> Result<()> {
        let mut present = Vec::new();
        for harness in self.harnesses().iter().filter(|harness| harness.takes_work()) {
            // Only a busy agent can have messages waiting.
            let busy = harness.in_progress() > 0;
            let load = if busy { self.load(harness).await? } else { 0 };
            present.push(AgentPresence { name: harness.spec.name.clone(), load });
        }
        for chunk in present.chunks(MAX_PAGE_SIZE) {
            self.0.registry.renew_presence(chunk, now + self.0.options.presence_ttl).await?;
        }
        Ok(())
    }

    /// Renews the availability of one agent.
    pub(in crate::agents) async fn renew(&self, harness: &QueueAgentHarness) -> Result<()> {
        let load = u64::from(harness.in_progress());
        let present = [AgentPresence { name: harness.spec.name.clone(), load }];
        self.0.registry.renew_presence(&present, now() + self.0.options.presence_ttl).await
    }

    async fn handle_overdue_work(&self, now: Timestamp) -> Result<()> {
        loop {
            let due =
                self.0.delegations.advance_sla(self.0.options.sla, now, MAX_PAGE_SIZE).await?;
            let last = due.len() < MAX_PAGE_SIZE;
            for due in due {
                let (id, action) = (due.work.id, due.action);
                if let Err(error) = self.handle_sla_action(due).await {
                    tracing::warn!(delegation = %id, ?action, %error, "SLA action failed");
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    async fn handle_sla_action(&self, SlaDue { work, action }: SlaDue) -> Result<()> {
        tracing::warn!(delegation = %work.id, agent = %work.assignee, ?action, "delegation is overdue");
        let escalate_to = self.0.options.escalate_to.as_ref();
        let to: AgentName = match action {
            SlaAction::Retry(_) => return self.assign(work).await,
            SlaAction::Alert => work.delegated_by.clone(),
            SlaAction::Escalate => escalate_to.unwrap_or(&work.delegated_by).clone(),
        };
        let reference = work.reference;
        let root = work.root;
        let mut envelope: Envelope = SlaNotice { work, action }.envelope(reference);
        envelope.context.root_reference = root;
        self.send(&to, envelope).await
    }
}
