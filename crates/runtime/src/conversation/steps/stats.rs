//! Step 11: counts the agent's messages and cost of the day.

use crate::conversation::run::Run;
use crate::conversation::steps::rate_limit::{cost_counter, message_counter};
use crate::conversation::steps::turn::FinishedTurn;

/// Counts the message that the last turn answered, and what its models cost.
pub(crate) fn run(run: &mut Run) {
    let Some(turn) = run.finished_turns.last() else { return };
    let (agent, cost) = (turn.agent, turn.record.cost.as_micros());
    run.pending.add_count(message_counter(agent), 1);
    add_cost(run, agent, cost);
}

/// Counts what the models of a side turn cost.
pub(crate) fn count_cost(run: &mut Run, turn: &FinishedTurn) {
    add_cost(run, turn.agent, turn.record.cost.as_micros());
}

fn add_cost(run: &mut Run, agent: ostler_domain::id::AgentId, micros: u64) {
    if micros > 0 {
        run.pending.add_count(cost_counter(agent), micros);
    }
}
