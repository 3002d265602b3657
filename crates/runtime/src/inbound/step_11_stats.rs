//! Step 11: what is counted.

use ostler_domain::id::AgentId;

use super::answer::Run;
use super::step_02_rate::{cost_of, messages_of};
use super::step_08_turn::Finished;

/// Counts one more answered message of an agent, and what its models cost.
pub(super) fn count(run: &mut Run, agent: AgentId, finished: &Finished) {
    run.draft.count(messages_of(agent), 1);
    let cost = finished.record.cost.as_micros();
    if cost > 0 {
        run.draft.count(cost_of(agent), cost);
    }
}
