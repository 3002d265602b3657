//! Tool calls, with those of the subagents they started.

use serde_json::Value;

/// The most bytes of output that are kept of a running command.
const MAX_LIVE_OUTPUT: usize = 64 * 1024;

/// A tool call.
#[derive(Debug, Clone)]
pub(crate) struct ToolCell {
    /// Unique in the transcript: turn and call.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) args: Value,
    pub(crate) status: ToolStatus,
    /// Output of the running command; of a long one, the end.
    pub(crate) output: String,
    pub(crate) result: String,
    pub(crate) why: Option<String>,
    pub(crate) started_at: i64,
    pub(crate) duration_ms: i64,
    pub(crate) agent: Option<AgentRun>,
}

/// A subagent that a call has started.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentRun {
    pub(crate) task: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCell>,
    pub(crate) duration_ms: Option<u64>,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolStatus {
    Running,
    Done,
    Failed,
    /// A person or a rule said no.
    Refused,
    /// The turn ended before the call did.
    Abandoned,
}

impl ToolStatus {
    pub(crate) fn is_final(self) -> bool {
        self != Self::Running
    }

    pub(super) fn of(status: Option<&str>, is_error: bool) -> Self {
        match status {
            Some("rejected" | "denied" | "refused") => Self::Refused,
            _ if is_error => Self::Failed,
            _ => Self::Done,
        }
    }
}

impl ToolCell {
    pub(super) fn new(id: String, tool: &str, args: Value, at: i64) -> Self {
        Self {
            id,
            tool: tool.to_owned(),
            args,
            status: ToolStatus::Running,
            output: String::new(),
            result: String::new(),
            why: None,
            started_at: at,
            duration_ms: 0,
            agent: None,
        }
    }

    /// Returns the call of this id here or in a subagent.
    pub(super) fn find(&mut self, id: &str) -> Option<&mut Self> {
        if self.id == id {
            return Some(self);
        }
        self.agent.as_mut()?.calls.iter_mut().find_map(|call| call.find(id))
    }

    pub(super) fn add_output(&mut self, text: &str) {
        self.output.push_str(text);
        if self.output.len() > MAX_LIVE_OUTPUT {
            let from = self.output.len() - MAX_LIVE_OUTPUT / 2;
            let from = (from..self.output.len()).find(|at| self.output.is_char_boundary(*at));
            self.output.drain(..from.unwrap_or(0));
        }
    }

    pub(super) fn end(&mut self, status: ToolStatus, result: String, at: i64) {
        self.status = status;
        self.result = result;
        self.output = String::new();
        self.duration_ms = (at - self.started_at).max(0);
    }

    /// Returns whether a command ended with another exit code than zero.
    pub(super) fn command_failed(&self, result: &str) -> bool {
        let last = result.lines().next_back().unwrap_or_default();
        let code = last.strip_prefix("[exit code ").and_then(|code| code.strip_suffix(']'));
        self.tool == "run_command" && code.is_some_and(|code| code != "0")
    }

    /// Ends a call whose turn has ended.
    pub(super) fn abandon(&mut self) {
        for call in self.agent.iter_mut().flat_map(|agent| &mut agent.calls) {
            call.abandon();
        }
        if self.status == ToolStatus::Running {
            self.status = ToolStatus::Abandoned;
            self.output = String::new();
        }
    }
}
