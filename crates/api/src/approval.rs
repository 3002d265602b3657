//! Calls that wait for a person.

use ostler_domain::gate::AskReason;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::{AgentId, ApprovalId, SessionId};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that waits for a person, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The session that it is asked for in.
    pub session: SessionId,
    /// The agent that asks.
    pub agent: AgentId,
    /// The tool.
    pub tool: ToolName,
    /// What it would be called with.
    pub arguments: Value,
    /// How bad a wrong call would be: `low`, `medium`, `high`.
    pub risk: String,
    /// Why it asks.
    pub why: AskReason,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// Where it stands: `status`, and who decided.
    #[serde(flatten)]
    pub status: ApprovalStatus,
}

/// Which approvals are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Those that wait.
    #[default]
    Pending,
    /// Those that a person said yes to, and that have not run.
    Approved,
    /// Those whose call has run.
    Used,
    /// Those that a person said no to.
    Rejected,
    /// Those that nobody decided in time.
    Expired,
}

/// Yes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Other arguments than were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

/// No.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    /// Why; the agent is told.
    pub reason: String,
}
