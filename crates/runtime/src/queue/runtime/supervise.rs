//! What is done again and again: saying who is there, seeing to late work, and
//! forgetting what was only remembered.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use ostler_bus::{Envelope, now};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::sla::SlaAction;
use ostler_domain::time::Timestamp;

use super::{AgentRuntime, Inner};
use crate::queue::coordination::{Coordination, Sla};
use crate::queue::delegations::SlaDue;
use crate::queue::error::Result;
use crate::queue::harness::Harness;
use crate::queue::page::LONGEST_PAGE;
use crate::queue::registry::Presence;

/// Supervises as long as the runtime is there.
pub(super) fn start(inner: &Arc<Inner>) {
    tokio::spawn(run(Arc::downgrade(inner), inner.options.tick));
}

async fn run(weak: Weak<Inner>, every: std::time::Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(inner) = weak.upgrade() else { return };
        if inner.stopped.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = AgentRuntime(inner).tick(now()).await {
            tracing::warn!(%error, "supervision did not get to its end; it goes on with the next");
        }
    }
}

impl AgentRuntime {
    /// One round of supervision. The runtime does it by itself; this is for
    /// those who want it now.
    pub async fn tick(&self, now: Timestamp) -> Result<()> {
        self.0.routes.forget_all();
        self.renew_all(now).await?;
        self.see_to_late_work(now).await
    }

    async fn renew_all(&self, now: Timestamp) -> Result<()> {
        let mut present = Vec::new();
        for harness in self.harnesses().iter().filter(|harness| harness.takes_work()) {
            // Only who is busy can have something waiting.
            let busy = harness.in_work() > 0;
            let load = if busy { self.load(harness).await? } else { 0 };
            present.push(Presence { name: harness.spec.name.clone(), load });
        }
        for some in present.chunks(LONGEST_PAGE) {
            self.0.registry.renew(some, now + self.0.options.presence).await?;
        }
        Ok(())
    }

    /// Says of one agent that it is there.
    pub(in crate::queue) async fn renew(&self, harness: &Harness) -> Result<()> {
        let load = u64::from(harness.in_work());
        let present = [Presence { name: harness.spec.name.clone(), load }];
        self.0.registry.renew(&present, now() + self.0.options.presence).await
    }

    async fn see_to_late_work(&self, now: Timestamp) -> Result<()> {
        loop {
            let due = self.0.delegations.tick(self.0.options.sla, now, LONGEST_PAGE).await?;
            let last = due.len() < LONGEST_PAGE;
            for due in due {
                let (id, action) = (due.work.id, due.action);
                if let Err(error) = self.see_to(due).await {
                    tracing::warn!(work = %id, ?action, %error, "late work was not seen to");
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    async fn see_to(&self, SlaDue { work, action }: SlaDue) -> Result<()> {
        tracing::warn!(work = %work.id, agent = %work.assignee, ?action, "work is late");
        let escalate_to = self.0.options.escalate_to.as_ref();
        let to: AgentName = match action {
            SlaAction::Retry(_) => return self.assign(work).await,
            SlaAction::Alert => work.delegated_by.clone(),
            SlaAction::Escalate => escalate_to.unwrap_or(&work.delegated_by).clone(),
        };
        let reference = work.reference;
        let root = work.root;
        let mut envelope: Envelope = Sla { work, action }.envelope(reference);
        envelope.context.root_reference = root;
        self.send(&to, envelope).await
    }
}
