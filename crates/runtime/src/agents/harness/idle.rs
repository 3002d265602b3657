//! Tells team leaders, once per idle period, that a member has no work.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::QueueAgentHarness;
use crate::agents::coordination::{CoordinationMessage, IdleNotice};
use crate::agents::error::Result;
use crate::agents::runtime::AgentRuntime;

/// Messages within this time count as the same work, because a broker hands out
/// the next message only after the ack.
const IDLE_DELAY: Duration = Duration::from_millis(100);

/// Watches an agent as long as it runs.
pub(super) fn watch(harness: &Arc<QueueAgentHarness>) {
    tokio::spawn(run(Arc::downgrade(harness)));
}

async fn run(weak: Weak<QueueAgentHarness>) {
    let mut notified = 0;
    while let Some(harness) = weak.upgrade() {
        tokio::select! {
            () = harness.closing() => return,
            () = harness.became_idle.notified() => {}
        }
        let started = harness.started();
        tokio::select! {
            () = harness.closing() => return,
            () = tokio::time::sleep(IDLE_DELAY) => {}
        }
        if harness.in_progress() > 0 || harness.started() != started || started == notified {
            continue;
        }
        match notify_leaders(&harness).await {
            Ok(true) => notified = started,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(agent = %harness.spec.name, %error, "idle notice not sent");
            }
        }
    }
}

/// Returns `false` if messages are waiting for the agent.
async fn notify_leaders(harness: &QueueAgentHarness) -> Result<bool> {
    let Some(inner) = harness.runtime.upgrade() else { return Ok(false) };
    if inner.bus.depth(&harness.queue).await?.total() > 0 {
        return Ok(false);
    }
    let runtime = AgentRuntime(inner);
    let agent = &harness.spec.name;
    for team in harness.teams() {
        let leader = runtime.team_leader(&team).await?;
        let Some(leader) = leader.filter(|leader| leader != agent) else { continue };
        let idle = IdleNotice { agent: agent.clone(), team: team.clone() };
        let mut envelope = idle.envelope(runtime.new_reference_code().await?);
        envelope.context.from_agent = Some(agent.clone());
        envelope.context.team = Some(team);
        runtime.send(&leader, envelope).await?;
    }
    Ok(true)
}
