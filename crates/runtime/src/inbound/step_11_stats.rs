//! Step 11: what is counted.

use super::run::Run;
use super::step_02_rate::{cost_of, messages_of};
use super::step_08_turn::Finished;

/// Counts one more answered message of an agent, and what its models cost.
pub(super) fn count(run: &mut Run, finished: &Finished) {
    run.draft.count(messages_of(finished.agent), 1);
    count_cost(run, finished);
}

/// Counts what an agent's models cost.
pub(super) fn count_cost(run: &mut Run, finished: &Finished) {
    let cost = finished.record.cost.as_micros();
    if cost > 0 {
        run.draft.count(cost_of(finished.agent), cost);
    }
}
