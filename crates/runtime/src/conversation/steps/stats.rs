//! Step 11: counts the agent's messages and cost of the day.

use ostler_domain::id::{AgentId, ConversationId};

use crate::conversation::run::Run;
use crate::conversation::steps::rate_limit::{conversation_counter, cost_counter, message_counter};
use crate::conversation::steps::turn::FinishedTurn;

/// Counts the message that the last turn answered, and what its models cost.
pub(crate) fn run(run: &mut Run, conversation: ConversationId) {
    let Some(turn) = run.finished_turns.last() else { return };
    let (agent, cost) = (counted_agent(turn), turn.record.cost.as_micros());
    let entry = run.session.entry;
    run.pending.add_count(message_counter(agent, entry), 1);
    run.pending.add_count(conversation_counter(agent, conversation, entry), 1);
    add_cost(run, agent, cost);
}

/// Counts what the models of a side turn cost.
pub(crate) fn count_cost(run: &mut Run, turn: &FinishedTurn) {
    add_cost(run, counted_agent(turn), turn.record.cost.as_micros());
}

/// Returns the agent whose limits the turn counts for.
fn counted_agent(turn: &FinishedTurn) -> AgentId {
    turn.counted_as.unwrap_or(turn.agent)
}

fn add_cost(run: &mut Run, agent: AgentId, micros: u64) {
    if micros > 0 {
        run.pending.add_count(cost_counter(agent, run.session.entry), micros);
    }
}
