//! Telling the leader of a team, once for each time, that a member ran out of
//! work.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Harness;
use crate::queue::coordination::{Coordination, Idle};
use crate::queue::error::Result;
use crate::queue::runtime::AgentRuntime;

/// What comes within this time after the last message belongs to the same work:
/// a broker hands the next one out only after the ack.
const LULL: Duration = Duration::from_millis(100);

/// Watches an agent as long as it runs.
pub(super) fn watch(harness: &Arc<Harness>) {
    tokio::spawn(run(Arc::downgrade(harness)));
}

async fn run(weak: Weak<Harness>) {
    let mut told = 0;
    while let Some(harness) = weak.upgrade() {
        tokio::select! {
            () = harness.closing() => return,
            () = harness.emptied.notified() => {}
        }
        let begun = harness.begun();
        tokio::select! {
            () = harness.closing() => return,
            () = tokio::time::sleep(LULL) => {}
        }
        if harness.in_work() > 0 || harness.begun() != begun || begun == told {
            continue;
        }
        match tell(&harness).await {
            Ok(true) => told = begun,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(agent = %harness.spec.name, %error, "nobody was told of the idle agent");
            }
        }
    }
}

/// False if something waits for the agent.
async fn tell(harness: &Harness) -> Result<bool> {
    let Some(inner) = harness.runtime.upgrade() else { return Ok(false) };
    if inner.bus.depth(&harness.queue).await?.total() > 0 {
        return Ok(false);
    }
    let runtime = AgentRuntime(inner);
    let agent = &harness.spec.name;
    for team in harness.teams() {
        let leader = runtime.leader(&team).await?;
        let Some(leader) = leader.filter(|leader| leader != agent) else { continue };
        let idle = Idle { agent: agent.clone(), team: team.clone() };
        let mut envelope = idle.envelope(runtime.new_code().await?);
        envelope.context.from_agent = Some(agent.clone());
        envelope.context.team = Some(team);
        runtime.send(&leader, envelope).await?;
    }
    Ok(true)
}
