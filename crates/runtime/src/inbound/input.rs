//! What a run answers.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{AgentId, ApprovalId, InboxId};
use ostler_engine::history::ToolCall;
use ostler_store::AfterTurn;

use super::case::Arrived;
use crate::talk::message::{MessageAuthor, ThreadMessage};

/// What a run answers.
pub(super) struct Input<'a> {
    /// The rows that are answered by it.
    pub(super) rows: Vec<InboxId>,
    /// What somebody wrote.
    pub(super) arrived: &'a [Arrived],
    /// What the agent is told instead.
    pub(super) note: Option<String>,
    /// A call that a person has approved.
    pub(super) approved: Option<Approved>,
    /// Whose answer it is, if it is not simply the active agent's: whoever asked
    /// for a call makes it.
    pub(super) agent: Option<AgentId>,
    /// Triggers that have been dealt with.
    pub(super) settled: &'a [Trigger],
    /// What becomes of the conversation afterwards.
    pub(super) then: AfterTurn,
}

/// A call that a person has approved.
pub(super) struct Approved {
    /// The approval, which is used up just before the call is made.
    pub(super) id: ApprovalId,
    /// The arguments it is bound to.
    pub(super) arguments: ArgumentsHash,
    /// The call.
    pub(super) call: ToolCall,
}

impl<'a> Input<'a> {
    /// What somebody wrote.
    pub(super) fn wrote(arrived: &'a [Arrived], then: AfterTurn) -> Self {
        let rows = arrived.iter().map(|one| one.id).collect();
        Self { rows, arrived, note: None, approved: None, agent: None, settled: &[], then }
    }

    /// The words that are to be answered.
    pub(super) fn words(&self, earlier: &[ThreadMessage]) -> String {
        if self.arrived.is_empty() {
            let last = earlier.iter().rev();
            let mut last = last.filter(|one| matches!(one.author, MessageAuthor::Customer { .. }));
            return last.next().map(ThreadMessage::text).unwrap_or_default().into_owned();
        }
        let texts: Vec<_> = self.arrived.iter().map(|one| one.wrote.text()).collect();
        texts.join("\n")
    }
}
