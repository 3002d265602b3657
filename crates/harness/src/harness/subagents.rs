//! What subagents did: their messages stay under their own runs.

use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::time::Timestamp;
use ostler_engine::history::Item;
use serde::Serialize;

use super::Harness;
use crate::error::HarnessError;
use crate::message::{HarnessMessage, message, message_id};

/// How many runs of a thread are read at most.
pub(crate) const MAX_RUNS: u32 = 10_000;

/// A run of a subagent that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentRun {
    pub run_id: RunId,
    /// The turn of the thread that it belongs to.
    pub turn_id: RunId,
    pub agent_type: String,
    /// The calls that lead to the subagent, from the agent of the thread on.
    pub path: Vec<String>,
    pub ended_at: Timestamp,
}

impl<S> Harness<S> {
    /// Returns the runs of the subagents of a thread, the earliest first.
    pub async fn subagent_runs(&self, thread: ThreadId) -> Result<Vec<SubagentRun>, HarnessError> {
        self.check_resource(thread).await?;
        let stored = self.core.org().subagent_runs(thread, MAX_RUNS).await?;
        let runs = stored.into_iter().map(|run| SubagentRun {
            run_id: run.run,
            turn_id: run.turn,
            agent_type: run.agent_type,
            path: serde_json::from_str(&run.path).unwrap_or_default(),
            ended_at: run.ended_at,
        });
        Ok(runs.collect())
    }

    /// Returns the messages of a subagent, from its task to its answer. A forked one has
    /// those of its caller only in its prompt, not here.
    pub async fn subagent_messages(&self, run: RunId) -> Result<Vec<HarnessMessage>, HarnessError> {
        let stored = self.core.org().subagent_run(run).await?;
        let (stored, messages) = stored.ok_or(HarnessError::UnknownSubagentRun(run))?;
        self.check_resource(stored.thread).await?;
        let items: Vec<Item> = serde_json::from_str(&messages)
            .map_err(|error| HarnessError::UnreadableMessage(error.to_string()))?;
        let numbered = (1..).zip(&items);
        let shown =
            numbered.map(|(seq, item)| message(message_id(run, seq), item, stored.ended_at));
        Ok(shown.collect())
    }
}
